#include "tuner/model/fit_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/scratch_folder.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LinkRow Link(const std::string& level, std::uint64_t bytes, double us, std::int64_t pairs = 1,
             bool duplex = false) {
  LinkRow row;
  row.level = level;
  row.size_bytes = bytes;
  row.time_us_median = us;
  row.pairs = pairs;
  row.duplex = duplex;
  return row;
}

// A link of 10 us and 1 GB/s, whose directions share it, and that two pairs fill.
RunRecords Links() {
  RunRecords run{.path = "a"};
  for (std::uint64_t n = 8; n <= 8u << 20; n *= 2) {
    run.links.push_back(Link("rack", n, 10 + static_cast<double>(n) / 1e3));
  }
  const std::uint64_t most = 8u << 20;
  const double alone = 10 + static_cast<double>(most) / 1e3;
  run.links.push_back(Link("rack", most, 2 * alone, 1, true));
  run.links.push_back(Link("rack", most, 1.25 * alone, 2));
  run.links.push_back(Link("rack", most, 2.5 * alone, 4));
  run.run = {{"levels", {{{"level", "rack"}, {"gap_us", 2.5}, {"overhead_us", 1.5}}}}};
  return run;
}

SweepRow Row(const std::string& algorithm, std::uint64_t bytes, double us) {
  SweepRow row;
  row.implementation = "hockney";
  row.algorithm = algorithm;
  row.protocol = "simple";
  row.buffers = "refreshed";
  row.ranks = 4;
  row.size_bytes = bytes;
  row.time_us_median = us;
  return row;
}

TEST(FitRunsTest, ALevelIsFittedWithItsDuplexRatioAndSaturation) {
  const std::vector<RunRecords> runs = {Links()};
  const Model model = FitRuns(runs);
  ASSERT_EQ(model.levels.size(), 1U);
  const LevelModel& rack = model.levels[0];
  ASSERT_EQ(rack.fit.line.segments().size(), 1U);
  EXPECT_NEAR(rack.fit.line.segments()[0].alpha_seconds, 10e-6, 1e-9);
  EXPECT_NEAR(rack.fit.line.segments()[0].beta_seconds_per_byte, 1e-9, 1e-13);
  EXPECT_EQ(ConfidenceOf(rack.fit), Confidence::kHigh);
  EXPECT_DOUBLE_EQ(*rack.duplex_ratio, 2);
  EXPECT_EQ(rack.duplex_points, 1U);
  ASSERT_TRUE(rack.saturation.has_value());
  EXPECT_NEAR(rack.saturation->one_GBps, 1, 0.01);
  EXPECT_NEAR(rack.saturation->all_GBps, 1.6, 0.01);
  EXPECT_EQ(rack.saturation->most_pairs, 4);
  EXPECT_EQ(rack.gap_us, 2.5);
  EXPECT_EQ(rack.overhead_us, 1.5);
}

TEST(FitRunsTest, ChoicesAreFittedApartAndWhatCannotBeIsTold) {
  RunRecords run{.path = "a"};
  for (std::uint64_t n = 8; n <= 1u << 20; n *= 4) {
    run.sweep.push_back(Row("ring", n, 20 + static_cast<double>(n) / 2e3));
    run.sweep.push_back(Row("direct", n, 5 + static_cast<double>(n) / 1e3));
  }
  run.sweep.push_back(Row("tree", 8, 1));  // one size
  run.sweep.push_back(Row("wrong", 8, 1));
  run.sweep.back().status = Status::kWrongData;
  const std::vector<RunRecords> runs = {run};
  const Model model = FitRuns(runs);
  ASSERT_EQ(model.algorithms.size(), 2U);
  EXPECT_EQ(model.algorithms[0].variant, "hockney direct simple");
  EXPECT_NEAR(model.algorithms[0].fit.line.segments()[0].alpha_seconds, 5e-6, 1e-9);
  EXPECT_NEAR(model.algorithms[1].fit.line.segments()[0].alpha_seconds, 20e-6, 1e-9);
  EXPECT_THAT(model.refused,
              ElementsAre(HasSubstr("all_reduce hockney tree simple, 4 ranks: 1 sizes, expected")));
}

TEST(FitRunsTest, RowsThatDifferInAnythingButTheSizeAreNoOneCurve) {
  RunRecords run{.path = "a"};
  for (std::uint64_t n = 8; n <= 1u << 20; n *= 4) {
    for (const char* slices : {"1", "3"}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        run.sweep.push_back(Row("ring", n, 20 + static_cast<double>(n) / 2e3));
        run.sweep.back().parameters = std::string("pieces=1;slices=") + slices;
        run.sweep.back().op = op;
      }
    }
  }
  const std::vector<RunRecords> runs = {run};
  EXPECT_EQ(FitRuns(runs).algorithms.size(), 4U);
}

TEST(FitRunsTest, JsonSaysUnitsAndWhatIsNotKnown) {
  const std::vector<RunRecords> runs = {Links()};
  const auto json = ModelJson(FitRuns(runs));
  EXPECT_EQ(json["schema"], "hockney-model");
  EXPECT_EQ(json["version"], 1);
  const auto& level = json["levels"][0];
  EXPECT_NEAR(level["fit"]["segments"][0]["alpha_us"].get<double>(), 10, 1e-3);
  EXPECT_NEAR(level["fit"]["segments"][0]["ns_per_byte"].get<double>(), 1, 1e-4);
  EXPECT_EQ(level["fit"]["confidence"], "high");
  RunRecords few{.path = "b"};
  for (const std::uint64_t n : {8, 64, 512}) few.links.push_back(Link("node", n, 1.0 * n));
  const std::vector<RunRecords> small = {few};
  const auto unknown = ModelJson(FitRuns(small))["levels"][0];
  EXPECT_TRUE(unknown["duplex_ratio"].is_null());
  EXPECT_TRUE(unknown["saturation"].is_null());
  EXPECT_TRUE(unknown["fit"]["held_out_error"].is_null());
  EXPECT_EQ(unknown["fit"]["confidence"], "unknown");
}

TEST(FitRunsTest, AFolderWithoutRowsIsRefused) {
  const testing::ScratchFolder folder;
  EXPECT_THROW(ReadRecords(folder.Path("none")), InputError);
}

// What `hockney links` recorded on a cluster whose links were set to 1 Gbit/s and 250 Mbit/s: the
// goodput is 1448/1514 of that.
TEST(FitRunsTest, TheRatesThatWereSetAreFound) {
  const std::vector<RunRecords> runs = {
      ReadRecords(std::string(HOCKNEY_SOURCE) + "/results/network_bars/links")};
  for (const LevelModel& level : FitRuns(runs).levels) {
    const double rate_GBps = 1e-9 / level.fit.line.segments().back().beta_seconds_per_byte;
    if (level.level == "rack") {
      EXPECT_NEAR(rate_GBps, 0.1195, 0.05 * 0.1195);
    }
    if (level.level == "fabric") {
      EXPECT_NEAR(rate_GBps, 0.0299, 0.05 * 0.0299);
    }
  }
}

}  // namespace
}  // namespace hockney
