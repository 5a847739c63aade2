// The interpreter of GPUs on threads of this CPU: every program's result equals the reference
// interpreter's bit for bit, and ThreadSanitizer sees its protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/block_executor.h"
#include "tests/collectives/placements.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::ExecutorCase;
using testing::MakeBlockPreparer;

HostDomain::Options SmallSlots(int lanes, std::uint64_t first_count = 0) {
  HostDomain::Options options;
  options.lanes = lanes;
  options.limits.slot_bytes = 4096;  // short vectors take several pieces and slices
  options.limits.packet_slot_bytes = 2048;
  options.limits.memory_slice_bytes = 1024;
  options.first_count = first_count;
  return options;
}

std::string RunBlocks(int ranks, const std::vector<ExecutorCase>& cases, int threads,
                      std::uint64_t first_count = 0) {
  return testing::RunCases(ranks, cases, SmallSlots(16, first_count), 2,
                           [&](Session& session, HostDomain& domain) {
                             return MakeBlockPreparer(session, domain, threads);
                           });
}

bool HasInPlace(Collective collective) {
  return Layout(EvenCounts({collective, 2, 0}, 1), DataType::kInt8, Cut{}).FindInPlace(0).supported;
}

// Every row but hierarchical, with counts, types, operators, slices and lanes by turns.
std::vector<ExecutorCase> AllRows(int ranks, Protocol protocol) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt8, DataType::kBfloat16,
                                 DataType::kFloat64, DataType::kInt32};
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMax};
  const std::uint64_t counts[] = {1031, 1, 0, 257, static_cast<std::uint64_t>(ranks) + 1};
  std::vector<ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.name == kHierarchical || (protocol == Protocol::kLl && !row.has_ll)) continue;
    const std::size_t turn = cases.size();
    ExecutorCase test;
    test.row = &row;
    test.parameters.protocol = protocol;
    test.parameters.lanes = 1 + static_cast<int>(turn % 2);
    test.parameters.slices = 1 + static_cast<int>(turn % 3);
    const int root = HasRoot(row.collective) ? static_cast<int>(turn % ranks) : 0;
    test.counts = EvenCounts({row.collective, ranks, root}, counts[turn % std::size(counts)]);
    test.type = kTypes[turn % std::size(kTypes)];
    test.op = Reduces(row.collective) ? kOps[turn % std::size(kOps)] : ReduceOp::kSum;
    test.misalignment = turn % 3 == 0 ? ElementBytes(test.type) : 0;
    cases.push_back(test);
    test.in_place = true;
    test.counts = EvenCounts({row.collective, ranks, root}, 515);
    if (HasInPlace(row.collective)) cases.push_back(test);
  }
  return cases;
}

TEST(BlockMachineTest, EveryRowEqualsTheReference) {
  EXPECT_EQ(RunBlocks(3, AllRows(3, Protocol::kSimple), 2), "");
  EXPECT_EQ(RunBlocks(4, AllRows(4, Protocol::kSimple), 1), "");
}

TEST(BlockMachineTest, EveryRowEqualsTheReferenceInPackets) {
  EXPECT_EQ(RunBlocks(3, AllRows(3, Protocol::kLl), 2), "");
  EXPECT_EQ(RunBlocks(2, AllRows(2, Protocol::kLl), 3), "");
}

TEST(BlockMachineTest, CountersAndFlagsPassTheirEnds) {
  const auto cases = AllRows(2, Protocol::kLl);
  EXPECT_EQ(RunBlocks(2, cases, 2, (std::uint64_t{1} << 31) - 20), "");
  EXPECT_EQ(RunBlocks(2, cases, 2, (std::uint64_t{1} << 32) - 20), "");
}

TEST(BlockMachineTest, PacketsAreCleanBeforeTheirFlagsStartAgain) {
  const auto blocks = [](Session& session, HostDomain& domain) {
    return MakeBlockPreparer(session, domain, 2);
  };
  EXPECT_EQ(testing::CountPacketsLeft((std::uint64_t{1} << 31) - 8, blocks), 0);
  EXPECT_GT(testing::CountPacketsLeft(0, blocks), 0) << "so the count above says something";
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

TEST(BlockMachineTest, ARankThatDoesNotComeEndsTheOthersWait) {
  RunThreadRanks(2, 30, [](Session& session) {
    HostDomain::Options options = SmallSlots(4);
    options.arena_bytes = 4096;
    HostDomain domain(session, options);
    const auto prepare = MakeBlockPreparer(session, domain, 2, 0.2);
    const Algorithm& row = *FindAlgorithm(Collective::kAllReduce, "ring");
    Call call;
    call.shape = {Collective::kAllReduce, 2, 0};
    call.counts = EvenCounts(call.shape, 64);
    call.input = domain.arena().data();
    call.output = domain.arena().data() + 1024;
    const auto prepared =
        prepare(call, row, ChooseFlow(row, call.counts, call.type, {}, options.limits),
                StorePolicy::kCached);
    if (session.rank() == 0) {
      EXPECT_THAT([&] { prepared->Run(); },
                  ::testing::ThrowsMessage<TimeoutError>(::testing::HasSubstr("gave up at step")));
    }
    session.Barrier();
  });
}

}  // namespace
}  // namespace hockney
