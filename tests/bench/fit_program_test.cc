// Runs `hockney fit` on made-up run folders, as a user does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/run_program.h"
#include "tests/scratch_folder.h"
#include "tuner/model/model.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using testing::ScratchFolder;

struct Point {
  std::uint64_t bytes = 0;
  double us = 0;
};

SweepRow Row(const Point& point) {
  SweepRow row;
  row.implementation = "mpi";
  row.algorithm = "auto";
  row.buffers = "refreshed";
  row.mode = "isolated";
  row.memory_kind = "host";
  row.dtype = DataType::kFloat32;
  row.op = ReduceOp::kSum;
  row.ranks = 512;
  row.size_bytes = point.bytes;
  row.time_us_median = point.us;
  return row;
}

void WriteSweep(const std::string& path, const std::vector<Point>& points) {
  RunFolder folder = RunFolder::Create(path);
  for (const Point& point : points) folder.AppendSweep(Row(point), {});
}

void WriteLinks(const std::string& path, const std::vector<Point>& points) {
  RunFolder folder = RunFolder::Create(path);
  for (const Point& point : points) {
    LinkRow row;
    row.level = "rack";
    row.size_bytes = point.bytes;
    row.time_us_median = point.us;
    folder.AppendLinks({&row, 1});
  }
}

// A latency listing of 512 ranks (public case B39): sizes 2^0 to 2^20, one of them six times above
// its neighbours' trend.
constexpr std::array kListing = {7.98,  7.40,   7.66,   7.70,   7.90,   8.93,   7.77,
                                 8.10,  10.13,  10.02,  11.73,  14.36,  19.15,  28.63,
                                 47.27, 498.13, 152.94, 235.62, 443.80, 752.25, 1519.43};

std::vector<Point> Listing() {
  std::vector<Point> points;
  for (std::size_t i = 0; i < kListing.size(); ++i) {
    points.push_back({std::uint64_t{1} << i, kListing[i]});
  }
  return points;
}

TEST(FitProgramTest, AGrossOutlierMovesNothingAndIsTold) {
  const ScratchFolder folder;
  WriteSweep(folder.Path("run"), Listing());
  const Outcome outcome = RunProgram("fit --residuals " + folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Model model = ReadModel(folder.Path("run") + "/model.json");
  ASSERT_EQ(model.algorithms.size(), 1U);
  const PiecewiseFit& fit = model.algorithms[0].fit;
  const double alpha_us = fit.line.segments().front().alpha_seconds * 1e6;
  EXPECT_GE(alpha_us, 7);
  EXPECT_LE(alpha_us, 10);
  const double rate_GBps = 1e-9 / fit.line.segments().back().beta_seconds_per_byte;
  EXPECT_GE(rate_GBps, 0.55);
  EXPECT_LE(rate_GBps, 0.75);
  ASSERT_EQ(fit.outliers.size(), 1U);
  EXPECT_EQ(fit.outliers[0].bytes, 32768);
  EXPECT_NEAR(fit.outliers[0].seconds, 498.13e-6, 1e-12);
  // Its neighbours' trend.
  EXPECT_GT(fit.outliers[0].fitted_seconds, 47.27e-6);
  EXPECT_LT(fit.outliers[0].fitted_seconds, 152.94e-6);
  EXPECT_THAT(outcome.out, HasSubstr("32K bytes take 498.13 us, the curve says "));
  // A line a size.
  const std::size_t at = outcome.out.find("residuals of all_reduce mpi auto");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(CountLines(outcome.out.substr(at)), kListing.size() + 2);
}

TEST(FitProgramTest, TheOutlierIsToldOfLinksToo) {
  const ScratchFolder folder;
  WriteLinks(folder.Path("run"), Listing());
  const Outcome outcome = RunProgram("fit " + folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("outliers, 1 sizes far off their curves:\n  level rack: 32K bytes"),
                    Not(HasSubstr("residuals"))));
}

TEST(FitProgramTest, NoiseIsNoOutlier) {
  const ScratchFolder folder;
  std::vector<Point> points;
  for (std::uint64_t n = 8; n <= 1u << 20; n *= 2) {
    points.push_back({n, (10 + static_cast<double>(n) / 1e3) * (n % 3 == 0 ? 1.1 : 0.9)});
  }
  WriteLinks(folder.Path("run"), points);
  EXPECT_THAT(RunProgram("fit " + folder.Path("run")).out, Not(HasSubstr("outlier")));
}

TEST(FitProgramTest, WhatCannotBeFittedIsRefusedWithTheReason) {
  const auto refuses = [](const std::vector<Point>& points, const char* reason) {
    const ScratchFolder folder;
    WriteLinks(folder.Path("links"), points);
    WriteSweep(folder.Path("sweep"), points);
    for (const char* run : {"links", "sweep"}) {
      const Outcome outcome = RunProgram("fit " + folder.Path(run));
      EXPECT_EQ(outcome.exit_code, 2) << run << reason;
      EXPECT_THAT(outcome.err,
                  AllOf(HasSubstr(std::string("/") + run + ": nothing could be fitted"),
                        HasSubstr(reason)));
      EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
      EXPECT_FALSE(std::ifstream(folder.Path(run) + "/model.json").good());
    }
  };
  refuses({{8, 1}}, "1 sizes, expected at least 3");
  refuses({{8, 1}, {8, 2}, {8, 3}}, "1 sizes, expected at least 3");
  refuses({{8, 1}, {16, 2}}, "2 sizes, expected at least 3");
  refuses({{8, 5}, {16, 5}, {32, 5}, {64, 5}}, "times do not grow with the size");
  refuses({{8, 5}, {16, 4}, {32, 3}, {64, 2}}, "times do not grow with the size");
  refuses({{8, 1}, {16, 0}, {32, 3}, {64, 4}}, "16 bytes take 0 us");
  refuses({{8, 1}, {16, 2}, {32, -3}, {64, 4}}, "32 bytes take -3 us");
}

TEST(FitProgramTest, ANumberThatIsNoneIsRefusedWithItsPlace) {
  const ScratchFolder folder;
  for (const char* text : {"nan", "inf", "-inf", "1e999", "x", ""}) {
    const std::string run = folder.Path("run");
    std::filesystem::create_directories(run);
    std::ofstream(run + "/links.csv")
        << "level,rank_a,rank_b,size_bytes,time_us_median\nrack,0,1,8,1\nrack,0,1,16," << text
        << "\nrack,0,1,32,3\n";
    const Outcome outcome = RunProgram("fit " + run);
    EXPECT_EQ(outcome.exit_code, 2) << text;
    EXPECT_THAT(outcome.err, HasSubstr("links.csv:3:13: time_us_median: \"" + std::string(text)));
  }
}

TEST(FitProgramTest, WhatIsFittedStaysWhereSomethingElseIsRefused) {
  const ScratchFolder folder;
  WriteSweep(folder.Path("run"), Listing());
  {
    RunFolder run = RunFolder::Append(folder.Path("run"));
    SweepRow row = Row({8, 5});
    row.algorithm = "other";
    run.AppendSweep(row, {});
  }
  const Outcome outcome = RunProgram("fit " + folder.Path("run"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 not fitted:\n  all_reduce mpi other"));
  EXPECT_EQ(ReadModel(folder.Path("run") + "/model.json").refused.size(), 1U);
}

TEST(FitProgramTest, EmptyFoldersAndFilesAreRefused) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.Path("empty"));
  const Outcome none = RunProgram("fit " + folder.Path("empty"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err,
              HasSubstr("expected a run folder with links.csv, sweep.csv or kernels.csv"));
  std::ofstream(folder.Path("empty") + "/sweep.csv") << NamesLine<SweepRow>();
  const Outcome no_rows = RunProgram("fit " + folder.Path("empty"));
  EXPECT_EQ(no_rows.exit_code, 2);
  EXPECT_THAT(no_rows.err, HasSubstr("nothing could be fitted: no row was measured"));
}

}  // namespace
}  // namespace hockney
