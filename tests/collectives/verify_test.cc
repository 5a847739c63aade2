#include "collectives/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/levels.h"

namespace hockney {
namespace {

constexpr Flow kFlow = {.slices = 2, .slots = 3};

std::vector<Protocol> ProtocolsOf(const Algorithm& row) {
  if (!row.has_ll) return {Protocol::kSimple};
  return {Protocol::kSimple, Protocol::kLl};
}

std::vector<int> RootsOf(const Algorithm& row, int ranks) {
  std::vector<int> roots = {0};
  for (int root = 1; root < ranks && HasRoot(row.collective); ++root) roots.push_back(root);
  return roots;
}

Parameters Make(Protocol protocol, int lanes, int pieces) {
  Parameters parameters;
  parameters.protocol = protocol;
  parameters.lanes = lanes;
  parameters.pieces = pieces;
  return parameters;
}

// The empty string when the row is proved for `counts`.
std::string FindFault(const Algorithm& row, const Counts& counts, const Parameters& parameters,
                      const Flow& flow = kFlow) {
  const Shape shape{.collective = row.collective, .ranks = counts.ranks, .root = counts.root};
  const Layout layout(counts, DataType::kInt8, row.build(shape, 0, parameters).cut);
  const Verdict verdict = VerifyAlgorithm(row, layout, parameters, flow);
  if (!verdict.complete) return "not complete";
  if (!verdict.fault) return "";
  return std::string(Name(verdict.fault->kind)) + ": " + verdict.fault->text + " (" +
         std::to_string(counts.ranks) + " ranks, root " + std::to_string(counts.root) + ", " +
         std::to_string(parameters.lanes) + " lanes, " + std::to_string(parameters.pieces) +
         " pieces)";
}

// A count that makes all chunks alike, so that the traffic is held against the row's formula.
Counts EqualChunks(const Algorithm& row, const Shape& shape, const Parameters& parameters) {
  const Cut cut = row.build(shape, 0, parameters).cut;
  Counts counts = EvenCounts(shape, 0);
  std::fill(counts.counts.begin(), counts.counts.end(),
            std::uint64_t{128} * cut.lanes * cut.chunks);
  return counts;
}

void ExpectProved(const Algorithm& row, const Shape& shape, const Parameters& parameters) {
  EXPECT_EQ(FindFault(row, EqualChunks(row, shape, parameters), parameters), "");
}

class VerifyTest : public testing::TestWithParam<Collective> {
 protected:
  template <class Visit>
  void ForEachRow(Visit visit) {
    for (const Algorithm& row : AllAlgorithms()) {
      // hierarchical_test has nodes for it.
      if (row.collective != GetParam() || row.name == kHierarchical) continue;
      for (const Protocol protocol : ProtocolsOf(row)) visit(row, protocol);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Rows, VerifyTest, testing::ValuesIn(kAllCollectives),
                         [](const auto& of) { return std::string(Name(of.param)); });

TEST_P(VerifyTest, EveryRowHoldsForOneToEightRanksAndEveryRoot) {
  ForEachRow([](const Algorithm& row, Protocol protocol) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const int root : RootsOf(row, ranks)) {
        for (const int pieces : {1, 2, 3}) {
          for (const int lanes : {1, 2}) {
            ExpectProved(row, {.collective = row.collective, .ranks = ranks, .root = root},
                         Make(protocol, lanes, pieces));
          }
        }
      }
    }
  });
}

// Pieces and lanes by turns.
TEST_P(VerifyTest, EveryRowHoldsForNineToSeventeenRanksAndEveryRoot) {
  ForEachRow([](const Algorithm& row, Protocol protocol) {
    for (int ranks = 9; ranks <= 17; ++ranks) {
      for (const int root : RootsOf(row, ranks)) {
        ExpectProved(row, {.collective = row.collective, .ranks = ranks, .root = root},
                     Make(protocol, 1 + (ranks + root) % 2, 1 + (ranks + root) % 3));
      }
    }
  });
}

TEST_P(VerifyTest, EveryRowHoldsForManyRanks) {
  ForEachRow([](const Algorithm& row, Protocol protocol) {
    for (const int ranks : {64, 100, 128}) {
      const int root = HasRoot(row.collective) ? 1 : 0;
      const Shape shape{.collective = row.collective, .ranks = ranks, .root = root};
      const Parameters parameters = Make(protocol, 1, 2);
      EXPECT_EQ(FindFault(row, EqualChunks(row, shape, parameters), parameters,
                          {.slices = 1, .slots = 2}),
                "");
    }
  });
}

// The slots of a connection that the schedules need are one more than the slices of a chunk.
TEST_P(VerifyTest, EveryRowHoldsForOneSlotMoreThanSlices) {
  ForEachRow([](const Algorithm& row, Protocol protocol) {
    for (const int slices : {1, 2, 4}) {
      const Shape shape{.collective = row.collective, .ranks = 6, .root = 0};
      const Parameters parameters = Make(protocol, 2, 3);
      EXPECT_EQ(FindFault(row, EqualChunks(row, shape, parameters), parameters,
                          {.slices = slices, .slots = slices + 1}),
                "");
    }
  });
}

TEST_P(VerifyTest, EveryRowHoldsForAnyCount) {
  ForEachRow([](const Algorithm& row, Protocol protocol) {
    for (const int ranks : {2, 3, 5, 8}) {
      const auto p = static_cast<std::uint64_t>(ranks);
      for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, p - 1, p + 1,
                                        std::uint64_t{73}, std::uint64_t{1009}}) {
        const Shape shape{.collective = row.collective, .ranks = ranks, .root = ranks - 1};
        const int root = HasRoot(row.collective) ? ranks - 1 : 0;
        EXPECT_EQ(FindFault(row, EvenCounts({shape.collective, ranks, root}, count),
                            Make(protocol, 2, 3)),
                  "");
      }
    }
  });
}

// Blocks of any length, empty ones among them.
TEST_P(VerifyTest, EveryRowHoldsForSkewedBlocks) {
  ForEachRow([](const Algorithm& row, Protocol protocol) {
    if (row.equal_blocks) return;
    for (const int ranks : {2, 5, 8}) {
      const int root = HasRoot(row.collective) ? 1 : 0;
      Counts counts =
          EvenCounts({.collective = row.collective, .ranks = ranks, .root = root}, 1000);
      if (counts.counts.size() < 2) return;
      for (std::size_t block = 0; block < counts.counts.size(); ++block) {
        counts.counts[block] = block % 3 == 0 ? 0 : 997 * block + 1;
      }
      EXPECT_EQ(FindFault(row, counts, Make(protocol, 2, 2)), "");
    }
  });
}

TEST(VerifyAggregationTest, PatHoldsForEveryLimit) {
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
    const Algorithm& row = *FindAlgorithm(collective, "pat");
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const int aggregation : {1, 2, 3, 4, 7, 8, 16}) {
        Parameters parameters = Make(Protocol::kSimple, 1, 2);
        parameters.aggregation = aggregation;
        ExpectProved(row, {.collective = collective, .ranks = ranks, .root = 0}, parameters);
      }
    }
  }
}

// Fused steps hold a message while they wait for a free slot: with slots for one chunk only, all
// ranks of a ring fill theirs and none takes.
TEST(VerifyFlowTest, RingDeadlocksWithSlotsForOneChunk) {
  const Algorithm& ring = *FindAlgorithm(Collective::kAllReduce, "ring");
  const Shape shape{.collective = Collective::kAllReduce, .ranks = 3, .root = 0};
  const Parameters parameters = Make(Protocol::kSimple, 1, 1);
  const std::vector<RankProgram> programs = BuildAll(ring, shape, parameters);
  const Layout layout(EvenCounts(shape, 3 * 128), DataType::kInt8, programs[0].cut);
  const CallPlan plan{.programs = programs, .layout = &layout};
  constexpr int kOrder[] = {0};
  for (const int slices : {1, 2, 3}) {
    const Verdict verdict = Verify({&plan, 1}, kOrder, {.slices = slices, .slots = slices});
    ASSERT_TRUE(verdict.fault.has_value()) << slices;
    EXPECT_EQ(verdict.fault->kind, FaultKind::kDeadlock) << slices;
    for (const char* part : {"rank 0", "rank 1", "rank 2", "step 1"}) {
      EXPECT_NE(verdict.fault->text.find(part), std::string::npos) << verdict.fault->text;
    }
    EXPECT_FALSE(
        Verify({&plan, 1}, kOrder, {.slices = slices, .slots = slices + 1}).fault.has_value());
  }
}

TEST(VerifyBudgetTest, ExhaustedBudgetIsReportedAsIncomplete) {
  const Algorithm& row = *FindAlgorithm(Collective::kAllToAll, "pairwise");
  const Shape shape{.collective = Collective::kAllToAll, .ranks = 64, .root = 0};
  const Parameters parameters = Make(Protocol::kSimple, 1, 1);
  const Layout layout(EvenCounts(shape, 1), DataType::kInt8, row.build(shape, 0, parameters).cut);
  const Verdict verdict = VerifyAlgorithm(row, layout, parameters, kFlow, 1e-9);
  EXPECT_FALSE(verdict.complete);
  EXPECT_FALSE(verdict.fault.has_value());
}

}  // namespace
}  // namespace hockney
