#include "collectives/executors/host/host_executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/collectives/host_ground.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::ExecutorCase;

constexpr double kTimeoutSeconds = 60;

// Runs all cases on `ranks` threads, with counters that start at `first_count`; reports the first
// difference.
std::string RunCases(int ranks, const std::vector<ExecutorCase>& cases,
                     std::uint64_t first_count = 0, int calls = 2) {
  HostDomain::Options options;
  options.lanes = 8;
  options.limits.slot_bytes = 4096;  // small, so that short vectors take several pieces and slices
  options.limits.packet_slot_bytes = 1024;
  options.limits.memory_slice_bytes = 1024;
  options.first_count = first_count;
  return testing::RunCases(ranks, cases, options, calls, testing::MakeHostGround);
}

// Both protocols a row has.
std::vector<Protocol> ProtocolsOf(const Algorithm& row) {
  if (row.has_ll) return {Protocol::kSimple, Protocol::kLl};
  return {Protocol::kSimple};
}

ExecutorCase MakeCase(const Algorithm& row, int ranks, int root, std::uint64_t count) {
  ExecutorCase test;
  test.row = &row;
  test.counts = EvenCounts({row.collective, ranks, root}, count);
  return test;
}

bool HasInPlace(const ExecutorCase& test) {
  return Layout(test.counts, test.type, Cut{}).FindInPlace(0).supported;
}

class HostExecutorTest : public ::testing::TestWithParam<int> {};

TEST_P(HostExecutorTest, EveryRowEqualsTheReferenceBitForBit) {
  const int ranks = GetParam();
  std::vector<ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : ProtocolsOf(row)) {
      for (const std::uint64_t count : {0, 1, ranks - 1, ranks + 1, 1031}) {
        ExecutorCase test = MakeCase(row, ranks, HasRoot(row.collective) ? ranks / 2 : 0, count);
        test.parameters.protocol = protocol;
        test.parameters.lanes = 1 + static_cast<int>(count % 2);
        test.parameters.slices = 1 + static_cast<int>(count % 3);
        test.misalignment = count % 2 == 0 ? 0 : 4;
        test.store = count % 2 == 0 ? StorePolicy::kCached : StorePolicy::kNonTemporal;
        cases.push_back(test);
        test.in_place = true;
        if (HasInPlace(test)) cases.push_back(test);
      }
    }
  }
  EXPECT_EQ(RunCases(ranks, cases), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, HostExecutorTest, ::testing::Values(1, 2, 3, 4, 5, 8));

TEST(HostExecutorTypesTest, EveryTypeAndOperatorEqualsTheReference) {
  std::vector<ExecutorCase> cases;
  for (const char* name : {"ring", "two_shot", "double_binary_tree", "recursive_doubling"}) {
    for (const DataType type : kAllDataTypes) {
      for (const ReduceOp op : kAllReduceOps) {
        ExecutorCase test = MakeCase(*FindAlgorithm(Collective::kAllReduce, name), 3, 0, 517);
        test.type = type;
        test.op = op;
        cases.push_back(test);
      }
    }
  }
  EXPECT_EQ(RunCases(3, cases, 0, 1), "");
}

TEST(HostExecutorCountersTest, CountersRunOnOverTheir31And32BitLimits) {
  std::vector<ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : ProtocolsOf(row)) {
      ExecutorCase test = MakeCase(row, 3, 0, cases.size() % 2 == 0 ? 700 : 9);
      test.parameters.protocol = protocol;
      cases.push_back(test);
    }
  }
  for (const std::uint64_t limit : {std::uint64_t{1} << 31, std::uint64_t{1} << 32}) {
    for (const std::uint64_t before : {1, 7, 40}) {
      EXPECT_EQ(RunCases(3, cases, limit - before), "") << "from " << limit - before;
    }
  }
}

TEST(HostExecutorCountersTest, PacketsAreCleanBeforeTheirFlagsStartAgain) {
  EXPECT_EQ(testing::CountPacketsLeft((std::uint64_t{1} << 31) - 8, testing::MakeHostGround), 0);
  EXPECT_GT(testing::CountPacketsLeft(0, testing::MakeHostGround), 0)
      << "elsewhere they stay, so the count above says something";
}

TEST(HostExecutorVectorsTest, SkewedCountsAndEmptyBlocksEqualTheReference) {
  std::vector<ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : ProtocolsOf(row)) {
      ExecutorCase test = MakeCase(row, 4, 0, 0);
      if (row.equal_blocks) continue;
      for (std::size_t i = 0; i < test.counts.counts.size(); ++i) {
        test.counts.counts[i] = i % 3 == 0 ? 0 : 37 * i * i;
      }
      test.parameters.protocol = protocol;
      cases.push_back(test);
    }
  }
  EXPECT_EQ(RunCases(4, cases), "");
}

TEST(HostExecutorErrorsTest, AMissingPeerEndsInATimeoutThatNamesIt) {
  std::string text;
  try {
    RunThreadRanks(2, 1, [&](Session& session) {
      HostDomain domain(session, {.arena_bytes = 4096, .lanes = 1, .limits = {}, .first_count = 0});
      HostExecutor executor(session, domain, {.oversubscribed = true, .timeout_seconds = 0.3});
      const Algorithm& row = *FindAlgorithm(Collective::kAllReduce, "ring");
      ExecutorCase test = MakeCase(row, 2, 0, 16);
      Call call;
      call.shape = {row.collective, 2, 0};
      call.counts = test.counts;
      call.input = domain.arena().data();
      call.output = domain.arena().data() + 128;
      const CallFlow flow = ChooseFlow(row, test.counts, test.type, {}, domain.options().limits);
      const auto prepared = executor.Prepare(call, row, flow, StorePolicy::kCached);
      if (session.rank() == 0) prepared->Run();
    });
  } catch (const TimeoutError& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("for rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("all_reduce"), std::string::npos) << text;
}

TEST(HostExecutorErrorsTest, BuffersOutsideTheArenaAreRefusedForPeerShapes) {
  EXPECT_THROW(RunThreadRanks(
                   2, kTimeoutSeconds,
                   [&](Session& session) {
                     HostDomain domain(
                         session,
                         {.arena_bytes = 4096, .lanes = 1, .limits = {}, .first_count = 0});
                     HostExecutor executor(session, domain, {});
                     const Algorithm& row = *FindAlgorithm(Collective::kAllReduce, "two_shot");
                     std::vector<std::byte> own(256);
                     Call call;
                     call.shape = {row.collective, 2, 0};
                     call.counts = EvenCounts(call.shape, 16);
                     call.input = own.data();
                     call.output = own.data() + 128;
                     const CallFlow flow =
                         ChooseFlow(row, call.counts, call.type, {}, domain.options().limits);
                     const auto prepared = executor.Prepare(call, row, flow, StorePolicy::kCached);
                   }),
               std::invalid_argument);
}

}  // namespace
}  // namespace hockney
