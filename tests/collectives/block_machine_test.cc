// The interpreter of GPUs on threads of this CPU: every program's result equals the reference
// interpreter's bit for bit, and ThreadSanitizer sees its protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/executor_cases.h"
#include "tests/collectives/placements.h"
#include "tests/collectives/thread_device.h"
#include "tests/gpu/block_ranks.h"
#include "tests/gpu/device_ground.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::ExecutorCase;
using testing::Ground;

constexpr double kTimeoutSeconds = 60;

DomainOptions SmallSlots(int lanes, std::uint64_t first_count = 0) {
  DomainOptions options;
  options.lanes = lanes;
  options.limits.slot_bytes = 4096;  // short vectors take several pieces and slices
  options.limits.packet_slot_bytes = 2048;
  options.limits.memory_slice_bytes = 1024;
  options.first_count = first_count;
  return options;
}

testing::MakeGround Blocks(int threads) {
  return [threads](Session& session, const DomainOptions& options) {
    return testing::MakeDeviceGround(session, testing::MakeThreadDevice(), options,
                                     PeerMemoryKind::kFileDescriptor,
                                     {.threads = threads, .timeout_seconds = kTimeoutSeconds});
  };
}

std::string RunBlocks(int ranks, const std::vector<ExecutorCase>& cases, int threads,
                      std::uint64_t first_count = 0) {
  return testing::RunCases(ranks, cases, SmallSlots(16, first_count), 2, Blocks(threads));
}

TEST(BlockMachineTest, EveryRowEqualsTheReference) {
  EXPECT_EQ(RunBlocks(3, testing::EveryRow(3, Protocol::kSimple), 2), "");
  EXPECT_EQ(RunBlocks(4, testing::EveryRow(4, Protocol::kSimple), 1), "");
}

TEST(BlockMachineTest, EveryRowEqualsTheReferenceInPackets) {
  EXPECT_EQ(RunBlocks(3, testing::EveryRow(3, Protocol::kLl), 2), "");
  EXPECT_EQ(RunBlocks(2, testing::EveryRow(2, Protocol::kLl), 3), "");
}

TEST(BlockMachineTest, CountersAndFlagsPassTheirEnds) {
  const auto cases = testing::EveryRow(2, Protocol::kLl);
  EXPECT_EQ(RunBlocks(2, cases, 2, (std::uint64_t{1} << 31) - 20), "");
  EXPECT_EQ(RunBlocks(2, cases, 2, (std::uint64_t{1} << 32) - 20), "");
}

TEST(BlockMachineTest, PacketsAreCleanBeforeTheirFlagsStartAgain) {
  EXPECT_EQ(testing::CountPacketsLeft((std::uint64_t{1} << 31) - 8, Blocks(2)), 0);
  EXPECT_GT(testing::CountPacketsLeft(0, Blocks(2)), 0) << "so the count above says something";
}

TEST(BlockMachineTest, HierarchicalRowsEqualTheReference) {
  const RankPlacement placement =
      testing::PlaceRanks(testing::Even(2, 2), testing::RankOrder::kRoundRobin);
  std::vector<ExecutorCase> cases;
  for (const Collective collective : testing::HierarchicalCollectives()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      ExecutorCase test;
      test.row = FindAlgorithm(collective, kHierarchical);
      test.parameters.protocol = protocol;
      test.parameters.placement = &placement;
      const auto levels = UsualLevels(collective, protocol, &placement);
      if (levels.empty()) continue;
      test.parameters.levels = levels.back();
      test.counts = EvenCounts({collective, 4, 0}, 301);
      cases.push_back(test);
    }
  }
  EXPECT_EQ(RunBlocks(4, cases, 2), "");
}

// A ring all-reduce on `lanes` lanes, made ready.
std::unique_ptr<Prepared> PrepareRing(Session& session, const Ground& ground, int lanes) {
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "ring");
  test.counts = EvenCounts({Collective::kAllReduce, session.ranks(), 0}, 64);
  test.parameters.lanes = lanes;
  const testing::PlannedCase planned(test, ground.limits);
  return ground.prepare(planned.MakeCall(session.rank(), ground.arena), *test.row, planned.flow(),
                        StorePolicy::kCached);
}

TEST(CudaExecutorTest, ARankThatDoesNotComeEndsTheOthersWait) {
  RunThreadRanks(2, 30, [](Session& session) {
    DomainOptions options = SmallSlots(4);
    options.arena_bytes = 4096;
    const Ground ground = testing::MakeDeviceGround(session, testing::MakeThreadDevice(), options,
                                                    PeerMemoryKind::kFileDescriptor,
                                                    {.threads = 2, .timeout_seconds = 0.2});
    const auto prepared = PrepareRing(session, ground, 1);
    if (session.rank() == 0) {
      EXPECT_THAT([&] { prepared->Run(); },
                  ::testing::ThrowsMessage<TimeoutError>(::testing::AllOf(
                      ::testing::HasSubstr("rank 0 waited 0.2"), ::testing::HasSubstr("all_reduce"),
                      ::testing::HasSubstr("lane 0 at step"))));
    }
    session.Barrier();
  });
}

TEST(CudaExecutorTest, MoreBlocksThanTheDeviceHoldsAreRefusedOnEveryRank) {
  RunThreadRanks(2, 30, [](Session& session) {
    DomainOptions options = SmallSlots(8);
    options.arena_bytes = 4096;
    const int resident = session.rank() == 0 ? 64 : 7;  // rank 1's device is the small one
    const Ground ground =
        testing::MakeDeviceGround(session, testing::MakeThreadDevice({.resident_blocks = resident}),
                                  options, PeerMemoryKind::kFileDescriptor,
                                  {.threads = 1, .ranks_on_device = 2, .timeout_seconds = 20});
    PrepareRing(session, ground, 3)->Run();
    EXPECT_THAT([&] { PrepareRing(session, ground, 4); },
                ::testing::ThrowsMessage<std::invalid_argument>(
                    ::testing::HasSubstr("expected at most 7 of 1 threads")));
  });
}

TEST(BlockRanksTest, RanksAsBlocksOfOneLaunchEqualTheReference) {
  const auto device = testing::MakeThreadDevice();
  for (const int ranks : {2, 3}) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      const auto cases = testing::EveryRow(ranks, protocol);
      testing::BlockRanks together(*device, ranks, testing::WithRoomFor(cases, SmallSlots(16)));
      for (const ExecutorCase& test : cases) {
        EXPECT_EQ(together.RunCase(test, 2, 1, kTimeoutSeconds), "");
      }
    }
  }
}

}  // namespace
}  // namespace hockney
