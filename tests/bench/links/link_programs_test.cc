#include "bench/links/link_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "collectives/executors/host/host_executor.h"
#include "collectives/partners.h"

namespace hockney {
namespace {

constexpr std::uint64_t kBytes = 10000;

// Runs the task on three rank threads with small slots; returns every rank's output, which was
// zero, for inputs of `rank + 1` in every byte.
std::vector<std::vector<std::byte>> RunTask(const LinkTask& task) {
  std::vector<std::vector<std::byte>> outputs;
  RunThreadRanks(3, 60, [&](Session& session) {
    HostDomain::Options options;
    options.limits.slot_bytes = 4096;
    options.arena_bytes = 1 << 20;
    HostDomain domain(session, options);
    HostExecutor executor(session, domain, {.oversubscribed = true, .timeout_seconds = 60});
    const std::uint64_t total = TotalBytes(task);
    Call call;
    call.shape = {Collective::kSendRecv, session.ranks(), 0};
    call.type = DataType::kUint8;
    call.counts = EvenCounts(call.shape, total);
    call.input = domain.arena().data();
    call.output = domain.arena().data() + (1 << 19);
    std::memset(call.input, session.rank() + 1, total);
    LinkProgram mine = MakeLinkProgram(task, session.rank(), session.ranks(), options.limits);
    const auto prepared =
        executor.PrepareProgram(call, std::move(mine.program), mine.flow, StorePolicy::kCached);
    for (int i = 0; i < 3; ++i) prepared->Run();
    const auto all = session.AllGather({call.output, total});
    if (session.rank() == 0) outputs = all;
  });
  return outputs;
}

bool IsAll(const std::vector<std::byte>& bytes, int value) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [value](std::byte b) { return std::to_integer<int>(b) == value; });
}

TEST(LinkProgramsTest, PingPongAndDuplexBringEachTheOthersBytes) {
  for (const LinkPattern pattern : {LinkPattern::kPingPong, LinkPattern::kDuplex}) {
    const auto outputs = RunTask({.pattern = pattern, .pairs = {{0, 2}}, .bytes = kBytes});
    EXPECT_TRUE(IsAll(outputs[0], 3));
    EXPECT_TRUE(IsAll(outputs[1], 0));
    EXPECT_TRUE(IsAll(outputs[2], 1));
  }
}

TEST(LinkProgramsTest, LanesShareAMessage) {
  for (const LinkPattern pattern : {LinkPattern::kPingPong, LinkPattern::kStream}) {
    const LinkTask task{.pattern = pattern, .pairs = {{0, 2}}, .bytes = kBytes, .lanes = 3};
    EXPECT_TRUE(IsAll(RunTask(task)[2], 1));
    const LinkProgram program = MakeLinkProgram(task, 0, 3, FlowLimits{});
    EXPECT_EQ(program.program.lanes.size(), 3U);
  }
}

TEST(LinkProgramsTest, StreamsGoOneWay) {
  for (const LinkPattern pattern : {LinkPattern::kStream, LinkPattern::kPost}) {
    const auto outputs =
        RunTask({.pattern = pattern, .pairs = {{1, 0}}, .bytes = 128, .messages = 64});
    EXPECT_TRUE(IsAll(outputs[0], 2));
    EXPECT_TRUE(IsAll(outputs[1], 0));
  }
}

TEST(LinkProgramsTest, AMessageUsesAsFewSlotsAsHoldIt) {
  const FlowLimits limits{.slots = 8, .slot_bytes = 4096};
  const LinkProgram mine = MakeLinkProgram({.pairs = {{0, 1}}, .bytes = kBytes}, 0, 2, limits);
  EXPECT_EQ(mine.flow.cut.chunks, 3);
  EXPECT_EQ(PartnersOf(mine.program), std::vector<int>{1});
}

TEST(LinkProgramsTest, WhoIsInNoPairHasNothingToDo) {
  const LinkProgram idle = MakeLinkProgram({.pairs = {{0, 1}}, .bytes = 8}, 2, 3, FlowLimits{});
  EXPECT_TRUE(idle.program.lanes.empty());
  EXPECT_TRUE(PartnersOf(idle.program).empty());
}

}  // namespace
}  // namespace hockney
