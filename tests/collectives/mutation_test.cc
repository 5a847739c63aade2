#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/levels.h"
#include "collectives/verify.h"
#include "tests/collectives/mutations.h"
#include "tests/collectives/placements.h"

namespace hockney {
namespace {

using testing::Even;
using testing::PlaceRanks;
using testing::RankOrder;

constexpr int kThreeCalls[] = {0, 0, 0};
constexpr Flow kFlow = {.slices = 1, .slots = 3};

struct Tally {
  int mutants = 0;
  int rejected = 0;
  std::map<std::string, int> equivalents;  // by reason
};

// One intact set of programs and the layout it runs on.
struct Subject {
  const Algorithm* row = nullptr;
  Shape shape{};
  Parameters parameters{};
};

std::string Describe(const Subject& subject) {
  return std::string(Name(subject.row->collective)) + " " + std::string(subject.row->name) +
         (subject.parameters.protocol == Protocol::kLl ? " ll, " : " simple, ") +
         std::to_string(subject.shape.ranks) + " ranks, root " +
         std::to_string(subject.shape.root) + (subject.parameters.in_place ? ", in place" : "") +
         (subject.row->name == kHierarchical ? " " + NameOf(subject.parameters.levels) : "");
}

// Mutates each rank's program in turn. A mutant is rejected for a fault, or for traffic other than
// the intact programs' (which VerifyAlgorithm holds to the formula).
void MutateAll(const Subject& subject, Tally& tally) {
  std::vector<RankProgram> programs = BuildAll(*subject.row, subject.shape, subject.parameters);
  // All chunks have 128 bytes, so that none is told from another by its size.
  const Cut cut = programs[0].cut;
  Counts counts = EvenCounts(subject.shape, 0);
  counts.counts.assign(counts.counts.size(), std::uint64_t{128} * cut.lanes * cut.chunks);
  const Layout layout(counts, DataType::kInt8, cut);
  const CallPlan plan{.programs = programs,
                      .layout = &layout,
                      .in_place = subject.parameters.in_place,
                      .placement = subject.parameters.placement};
  const Verdict intact = Verify({&plan, 1}, kThreeCalls, kFlow);
  ASSERT_FALSE(intact.fault.has_value()) << Describe(subject) << ": " << intact.fault->text;
  for (int rank = 0; rank < subject.shape.ranks; ++rank) {
    const RankProgram original = programs[rank];
    for (const Mutation& mutation : ListMutations(original)) {
      programs[rank] = Mutate(original, mutation);
      const Verdict verdict = Verify({&plan, 1}, kThreeCalls, kFlow);
      ++tally.mutants;
      if (verdict.fault || verdict.wire_bytes != intact.wire_bytes) {
        ++tally.rejected;
        continue;
      }
      const std::string reason =
          FindEquivalence(original, mutation, {&layout, subject.parameters.in_place});
      ++tally.equivalents[reason];
      EXPECT_NE(reason, "") << "unnoticed in " << Describe(subject) << ", rank " << rank << ": "
                            << Describe(mutation);
    }
    programs[rank] = original;
  }
}

// The row under every protocol, with input and output apart and in place.
void MutateRow(const Algorithm& row, const Shape& shape, int lanes, Tally& tally,
               const Parameters& like = {}) {
  for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
    if (protocol == Protocol::kLl && !row.has_ll) continue;
    if (row.name == kHierarchical && !WhyUnfit(row.collective, like.levels, protocol).empty()) {
      continue;
    }
    Subject subject{.row = &row, .shape = shape, .parameters = like};
    subject.parameters.protocol = protocol;
    subject.parameters.lanes = lanes;
    subject.parameters.pieces = row.uses_pieces ? 2 : 1;
    for (const bool in_place : {false, true}) {
      subject.parameters.in_place = in_place;
      const Layout layout(EvenCounts(shape, 1), DataType::kInt8, {});
      if (in_place && !layout.FindInPlace(0).supported) continue;
      MutateAll(subject, tally);
    }
  }
}

void Print(const Tally& tally) {
  std::cout << tally.mutants << " mutants, " << tally.rejected << " rejected";
  for (const auto& [reason, count] : tally.equivalents) std::cout << ", " << count << " " << reason;
  std::cout << "\n";
}

class MutationTest : public ::testing::TestWithParam<Collective> {};
INSTANTIATE_TEST_SUITE_P(Row, MutationTest, ::testing::ValuesIn(kAllCollectives),
                         [](const auto& of) { return std::string(Name(of.param)); });

TEST_P(MutationTest, EveryMutantIsRejectedOrEquivalent) {
  Tally tally;
  for (const Algorithm& row : AllAlgorithms()) {
    // On one node it has steps of one rank alone, which no mistake in a peer can change.
    if (row.collective != GetParam() || row.name == kHierarchical) continue;
    for (const int ranks : {3, 5, 8}) {
      for (const int root : {0, ranks - 1}) {
        if (root > 0 && !HasRoot(row.collective)) continue;
        const Shape shape{.collective = row.collective, .ranks = ranks, .root = root};
        MutateRow(row, shape, 1, tally);
        // On two lanes a barrier is two barriers, and one may be broken.
        if (ranks == 5 && row.collective != Collective::kBarrier) MutateRow(row, shape, 2, tally);
      }
    }
  }
  Print(tally);
}

// The levels at 2 nodes x 2 ranks, by turns in both orders; the first ones at 2 x 3, too.
class HierarchicalMutationTest : public ::testing::TestWithParam<Collective> {};
INSTANTIATE_TEST_SUITE_P(Row, HierarchicalMutationTest,
                         ::testing::ValuesIn(testing::HierarchicalCollectives()),
                         [](const auto& of) { return std::string(Name(of.param)); });

TEST_P(HierarchicalMutationTest, EveryMutantIsRejectedOrEquivalent) {
  const Algorithm& row = *FindAlgorithm(GetParam(), kHierarchical);
  const RankPlacement block = PlaceRanks(Even(2, 2), RankOrder::kBlock);
  const RankPlacement dealt = PlaceRanks(Even(2, 2), RankOrder::kRoundRobin);
  const RankPlacement wide = PlaceRanks(Even(2, 3), RankOrder::kBlock);
  const std::vector<Levels> all = UsualLevels(GetParam(), Protocol::kSimple, nullptr);
  Tally tally;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Parameters parameters;
    parameters.levels = all[i];
    parameters.placement = i % 2 == 0 ? &block : &dealt;
    const int root = HasRoot(GetParam()) ? static_cast<int>(i % 4) : 0;
    MutateRow(row, {.collective = GetParam(), .ranks = 4, .root = root}, 1, tally, parameters);
    if (all[i].inter != all[0].inter) continue;
    parameters.placement = &wide;
    MutateRow(row, {.collective = GetParam(), .ranks = 6, .root = root}, 1, tally, parameters);
  }
  Print(tally);
}

}  // namespace
}  // namespace hockney
