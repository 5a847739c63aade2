#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/collectives/host_ground.h"
#include "tests/collectives/placements.h"
#include "topology/check.h"

// `hierarchical` on threads of one host that stand for ranks of several nodes.
namespace hockney {
namespace {

using testing::Even;
using testing::ExecutorCase;
using testing::PlaceRanks;
using testing::RankOrder;

std::string RunCases(int ranks, const std::vector<ExecutorCase>& cases) {
  HostDomain::Options options;
  options.lanes = 16;
  options.limits.slot_bytes = 4096;  // short vectors take several pieces and slices
  options.limits.packet_slot_bytes = 2048;
  options.limits.memory_slice_bytes = 1024;
  return testing::RunCases(ranks, cases, options, 2, testing::MakeHostGround);
}

bool HasInPlace(Collective collective) {
  return Layout(EvenCounts({collective, 2, 0}, 1), DataType::kInt8, Cut{}).FindInPlace(0).supported;
}

// One case, or two where there is an in-place form, with the rest by turns.
void AddCases(Collective collective, const Parameters& parameters,
              std::vector<ExecutorCase>& cases) {
  const int ranks = static_cast<int>(parameters.placement->node_of_rank.size());
  const std::uint64_t counts[] = {
      1031, 0,   1, static_cast<std::uint64_t>(ranks) - 1, static_cast<std::uint64_t>(ranks) + 1,
      2,    4099};
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt32, DataType::kBfloat16};
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMax};
  const auto turn = cases.size();
  ExecutorCase test;
  test.row = FindAlgorithm(collective, kHierarchical);
  test.parameters = parameters;
  test.parameters.lanes = 1 + static_cast<int>(turn % 2);
  test.parameters.slices = 1 + static_cast<int>(turn % 3);
  const int root = HasRoot(collective) ? static_cast<int>(turn % ranks) : 0;
  test.counts = EvenCounts({collective, ranks, root}, counts[turn % std::size(counts)]);
  test.type = kTypes[turn % 3];
  test.op = kOps[turn / 3 % 3];
  test.misalignment = turn % 2 == 0 ? 0 : ElementBytes(test.type);
  test.store = turn % 2 == 0 ? StorePolicy::kCached : StorePolicy::kNonTemporal;
  cases.push_back(test);
  test.in_place = true;
  if (HasInPlace(collective)) cases.push_back(test);
}

class HierarchicalExecutorTest : public ::testing::TestWithParam<std::size_t> {};

std::vector<RankPlacement> Placements() {
  return {PlaceRanks(Even(2, 2), RankOrder::kBlock),
          PlaceRanks(Even(2, 3), RankOrder::kRoundRobin),
          PlaceRanks(Even(3, 2), RankOrder::kShuffled),
          PlaceRanks({1, 3}, RankOrder::kBlock),
          PlaceRanks({3, 1, 2}, RankOrder::kRoundRobin),
          testing::WithRacks(PlaceRanks(Even(4, 2), RankOrder::kBlock), 2),
          testing::WithRacks(PlaceRanks({2, 1, 1, 3}, RankOrder::kShuffled), 2)};
}

INSTANTIATE_TEST_SUITE_P(Placements, HierarchicalExecutorTest, ::testing::Range<std::size_t>(0, 7));

TEST_P(HierarchicalExecutorTest, EveryUsualLevelEqualsTheReferenceBitForBit) {
  const RankPlacement placement = Placements().at(GetParam());
  std::vector<ExecutorCase> cases;
  for (const Collective collective : testing::HierarchicalCollectives()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      for (const Levels& levels : UsualLevels(collective, protocol, &placement)) {
        Parameters parameters;
        parameters.protocol = protocol;
        parameters.levels = levels;
        parameters.placement = &placement;
        if (!WhyNotHierarchical(collective, parameters).empty()) continue;
        AddCases(collective, parameters, cases);
      }
    }
  }
  EXPECT_EQ(RunCases(static_cast<int>(placement.node_of_rank.size()), cases), "");
}

TEST(HierarchicalExecutorErrorsTest, PeersMemoryOnAnotherNodeIsRefused) {
  const RankPlacement placement = PlaceRanks({1, 1}, RankOrder::kBlock);
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "two_shot");
  test.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 16);
  test.parameters.placement = &placement;
  std::string text;
  try {
    RunCases(2, {test});
  } catch (const std::invalid_argument& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("another node"), std::string::npos) << text;
}

// Two ranks of a rail wait for a third node's rank, which is missing. Which of the two speaks, and
// whom it waits for besides, depends on how far each came.
TEST(HierarchicalExecutorErrorsTest, AMissingRankIsNamedByItsNumberInTheJob) {
  const RankPlacement placement = PlaceRanks({1, 1, 1}, RankOrder::kBlock);
  std::string text;
  try {
    RunThreadRanks(3, 1, [&](Session& session) {
      HostDomain domain(session, {.arena_bytes = 4096, .lanes = 4, .limits = {}, .first_count = 0});
      HostExecutor executor(session, domain, {.oversubscribed = true, .timeout_seconds = 0.3});
      const Algorithm& row = *FindAlgorithm(Collective::kAllReduce, kHierarchical);
      Parameters parameters;
      parameters.placement = &placement;
      Call call;
      call.shape = {row.collective, 3, 0};
      call.counts = EvenCounts(call.shape, 16);
      call.input = domain.arena().data();
      call.output = domain.arena().data() + 128;
      const CallFlow flow =
          ChooseFlow(row, call.counts, call.type, parameters, domain.options().limits);
      const auto prepared = executor.Prepare(call, row, flow, StorePolicy::kCached);
      if (session.rank() != 2) prepared->Run();
    });
  } catch (const TimeoutError& error) {
    text = error.what();
  }
  EXPECT_TRUE(std::regex_search(text, std::regex("for rank ([01], )?2"))) << text;
}

}  // namespace
}  // namespace hockney
