#include "tuner/select/modelled_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/select/made_up_rows.h"
#include "tuner/select/choose_rules.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpRow;

Choice Named(const std::string& algorithm) { return ChoiceOf(MadeUpRow(algorithm, 8, 1)); }

TEST(LegalityTest, PeersMemoryEndsAtTheNode) {
  Legality legality;
  EXPECT_EQ(legality.WhyNot(Collective::kAllReduce, Named("two_shot"), 4, 1), "");
  EXPECT_THAT(legality.WhyNot(Collective::kAllReduce, Named("two_shot"), 4, 2),
              HasSubstr("ends at the node"));
  EXPECT_EQ(legality.WhyNot(Collective::kAllReduce, Named("ring"), 4, 2), "");
}

TEST(LegalityTest, HierarchiesNeedSeveralNodes) {
  Legality legality;
  const Choice choice = Named("hierarchical(direct,ring)");
  EXPECT_EQ(legality.WhyNot(Collective::kAllReduce, choice, 4, 2), "");
  EXPECT_NE(legality.WhyNot(Collective::kAllReduce, choice, 4, 1), "");
}

TEST(LegalityTest, WhatDoesNotExistIsNamed) {
  Legality legality;
  EXPECT_THAT(legality.WhyNot(Collective::kAllReduce, Named("star"), 4, 1), HasSubstr("\"star\""));
  EXPECT_THAT(legality.WhyNot(Collective::kBroadcast, Named("one_shot"), 4, 1),
              HasSubstr("broadcast"));
  Choice choice = Named("ring");
  choice.lanes = 99;
  EXPECT_THAT(legality.WhyNot(Collective::kAllReduce, choice, 4, 1), HasSubstr("\"99\""));
  choice = Named("ring");
  choice.parameters = "slices=8;store=cached";
  EXPECT_THAT(legality.WhyNot(Collective::kAllReduce, choice, 4, 1), HasSubstr("slices=8"));
}

TEST(LegalityTest, OddRankCountsAreProvedAndLargeOnesByFewerRanks) {
  Legality legality;
  EXPECT_EQ(legality.WhyNot(Collective::kAllReduce, Named("halving_doubling"), 6, 2), "");
  EXPECT_FALSE(legality.reduced());
  EXPECT_EQ(legality.WhyNot(Collective::kAllReduce, Named("ring"), 4096, 512), "");
  EXPECT_TRUE(legality.reduced());
}

TEST(LegalityTest, BlocksOfRanksFillTheNodes) {
  EXPECT_THAT(BlockPlacement(5, 2).node_of_rank, ::testing::ElementsAre(0, 0, 0, 1, 1));
}

// One choice of 2 and 4 ranks whose time is `us` times the ranks.
std::vector<MeasuredTable> TwoShapes(double us) {
  std::vector<SweepRow> rows;
  for (const int ranks : {2, 4}) {
    for (const std::uint64_t bytes : {64, 128}) {
      rows.push_back(MadeUpRow("ring", bytes, us * ranks));
      rows.back().ranks = ranks;
      rows.push_back(MadeUpRow("one_shot", bytes, us * ranks + 1));
      rows.back().ranks = ranks;
    }
  }
  const std::vector<RunRecords> runs = {{.sweep = rows}};
  return MeasuredTables(runs);
}

TEST(CalibrateTest, FactorsAreThoseOfSizesNearby) {
  std::vector<SweepRow> rows;
  const std::pair<std::uint64_t, double> measured[] = {{64, 10}, {128, 12}, {1024, 100}};
  for (const auto& [bytes, us] : measured) rows.push_back(MadeUpRow("ring", bytes, us));
  const std::vector<RunRecords> runs = {{.sweep = rows}};
  const auto tables = MeasuredTables(runs);
  const Predictor same = [](Collective, const Choice&, std::int64_t, std::int64_t,
                            std::uint64_t) -> std::optional<double> { return 1e-6; };
  const Predictor calibrated = Calibrate(same, tables);
  const auto us = [&](std::uint64_t bytes) {
    return calibrated(Collective::kAllReduce, Named("ring"), 8, 1, bytes).value() * 1e6;
  };
  EXPECT_NEAR(us(64), 11, 1e-9);
  EXPECT_NEAR(us(256), 12, 1e-9);
  EXPECT_NEAR(us(700), 100, 1e-9);
  EXPECT_NEAR(us(1 << 20), 100, 1e-9);
  EXPECT_NEAR(us(8), 10, 1e-9);
}

TEST(CalibrateTest, PredictionsTakeTheMedianFactorOfTheirAlgorithm) {
  const auto tables = TwoShapes(10);
  // Half of what is measured, for ring only.
  const Predictor half = [](Collective, const Choice& choice, std::int64_t ranks, std::int64_t,
                            std::uint64_t) -> std::optional<double> {
    if (choice.algorithm != "ring") return std::nullopt;
    return 5e-6 * static_cast<double>(ranks);
  };
  const Predictor calibrated = Calibrate(half, tables);
  EXPECT_NEAR(calibrated(Collective::kAllReduce, Named("ring"), 16, 1, 64).value(), 160e-6, 1e-12);
  EXPECT_FALSE(calibrated(Collective::kAllReduce, Named("one_shot"), 16, 1, 64).has_value());
  EXPECT_FALSE(Calibrate({}, tables));
}

TEST(NearestShapeTest, TheNearestMeasuredShapeSpeaks) {
  const auto tables = TwoShapes(10);
  const Predictor nearest = NearestShape(tables);
  EXPECT_NEAR(nearest(Collective::kAllReduce, Named("ring"), 8, 1, 64).value(), 40e-6, 1e-12);
  EXPECT_NEAR(nearest(Collective::kAllReduce, Named("ring"), 1, 1, 64).value(), 20e-6, 1e-12);
  EXPECT_FALSE(nearest(Collective::kAllReduce, Named("bruck"), 8, 1, 64).has_value());
}

TEST(ChooseRulesTest, ShapesThatWereNotMeasuredAreModelledAndLegal) {
  std::vector<SweepRow> rows = {MadeUpRow("two_shot", 64, 10), MadeUpRow("ring", 64, 20)};
  const std::vector<RunRecords> runs = {{.path = "a", .sweep = rows}};
  const Tuning tuning = ChooseRules(runs, {.shapes = {{4, 1}, {4, 2}, {8, 1}}});
  ASSERT_EQ(tuning.tables.size(), 3U) << "4x1 was measured";
  EXPECT_EQ(tuning.runs, std::vector<std::string>{"a"});
  EXPECT_EQ(tuning.tables[0].rules[0].algorithm, "two_shot");
  EXPECT_TRUE(tuning.tables[0].rules[0].measured);
  EXPECT_EQ(tuning.tables[1].nodes, 2);
  EXPECT_EQ(tuning.tables[1].rules[0].algorithm, "ring") << "two_shot is not legal there";
  EXPECT_FALSE(tuning.tables[1].rules[0].measured);
  EXPECT_EQ(tuning.tables[2].ranks, 8);
  EXPECT_EQ(tuning.tables[2].rules[0].algorithm, "two_shot");
  EXPECT_THROW(ChooseRules(runs, {.shapes = {{2, 4}}}), std::invalid_argument);
}

TEST(ChooseRulesTest, ThePredictorDecidesForShapesThatItKnows) {
  std::vector<SweepRow> rows = {MadeUpRow("two_shot", 64, 10), MadeUpRow("ring", 64, 20)};
  const std::vector<RunRecords> runs = {{.sweep = rows}};
  TuneOptions options{.shapes = {{8, 1}}};
  options.predictor = [](Collective, const Choice& choice, std::int64_t ranks, std::int64_t,
                         std::uint64_t) -> std::optional<double> {
    const bool is_ring = choice.algorithm == "ring";
    return ranks == 4 ? (is_ring ? 20e-6 : 10e-6) : (is_ring ? 21e-6 : 90e-6);
  };
  const Tuning tuning = ChooseRules(runs, options);
  EXPECT_EQ(tuning.tables[1].rules[0].algorithm, "ring");
  EXPECT_NEAR(tuning.tables[1].rules[0].time_us.value(), 21, 1e-9);
}

TEST(ChooseRulesTest, NothingMeasuredGivesNoTables) {
  EXPECT_TRUE(ChooseRules(std::vector<RunRecords>{}).tables.empty());
}

}  // namespace
}  // namespace hockney
