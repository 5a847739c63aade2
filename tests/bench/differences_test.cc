#include "bench/differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace hockney {
namespace {

using ::testing::HasSubstr;

SweepRow MakeRow(std::int64_t launch, std::uint64_t size, double time_us) {
  SweepRow row;
  row.launch = launch;
  row.implementation = "hockney";
  row.algorithm = "ring";
  row.mode = "isolated";
  row.buffers = "refreshed";
  row.ranks = 2;
  row.size_bytes = size;
  row.time_us_median = time_us;
  return row;
}

// Launches whose rows of `sizes` sizes vary by a few percent; the first size's are `factor` longer.
std::vector<SweepRow> MakeRun(std::mt19937& random, int launches, int sizes, double factor) {
  std::lognormal_distribution<double> noise(0, 0.03);
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < launches; ++launch) {
    for (int size = 0; size < sizes; ++size) {
      rows.push_back(MakeRow(launch, 8U << size, noise(random) * (size == 0 ? factor : 1)));
    }
  }
  return rows;
}

std::size_t CountClaims(const std::vector<Difference>& differences) {
  return static_cast<std::size_t>(std::count_if(differences.begin(), differences.end(),
                                                [](const Difference& d) { return d.claimed; }));
}

TEST(DifferencesTest, EqualRunsAreRarelyCalledUnlikeHoweverManyRows) {
  std::mt19937 random(5);
  int runs_called_unlike = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto a = MakeRun(random, 8, 12, 1);
    const auto b = MakeRun(random, 8, 12, 1);
    runs_called_unlike += CountClaims(FindDifferences(a, b).differences) > 0 ? 1 : 0;
  }
  EXPECT_LE(runs_called_unlike, 20);
}

TEST(DifferencesTest, OneRowThatDiffersIsFoundAndNamed) {
  std::mt19937 random(5);
  const auto a = MakeRun(random, 8, 12, 1);
  const auto b = MakeRun(random, 8, 12, 1.25);
  const auto differences = FindDifferences(a, b).differences;
  ASSERT_EQ(differences.size(), 12U);
  ASSERT_EQ(CountClaims(differences), 1U);
  const auto found = std::find_if(differences.begin(), differences.end(),
                                  [](const Difference& d) { return d.claimed; });
  EXPECT_THAT(found->what, HasSubstr("ring 8 bytes"));
  EXPECT_NEAR(found->ratio.value, 1.25, 0.06);
  EXPECT_GT(found->ratio.interval.low, 1.1);
  EXPECT_EQ(found->launches_a, 8U);
}

TEST(DifferencesTest, DirectionAndOrderOfRowsDoNotMatter) {
  std::mt19937 random(9);
  const auto a = MakeRun(random, 6, 2, 1);
  auto b = MakeRun(random, 6, 2, 2);
  const auto forth = FindDifferences(a, b).differences;
  std::shuffle(b.begin(), b.end(), random);
  const auto shuffled = FindDifferences(a, b).differences;
  const auto back = FindDifferences(b, a).differences;
  for (std::size_t i = 0; i < forth.size(); ++i) {
    EXPECT_EQ(forth[i].claimed, shuffled[i].claimed);
    EXPECT_EQ(forth[i].claimed, back[i].claimed);
    EXPECT_DOUBLE_EQ(forth[i].p_value, shuffled[i].p_value);
    EXPECT_NEAR(forth[i].ratio.value * back[i].ratio.value, 1, 1e-9);
  }
}

TEST(DifferencesTest, TooFewLaunchesAreRefused) {
  std::mt19937 random(1);
  EXPECT_THROW(FindDifferences(MakeRun(random, 4, 1, 1), MakeRun(random, 8, 1, 9)),
               std::invalid_argument);
}

TEST(DifferencesTest, RunsWithoutACommonRowAreRefused) {
  std::mt19937 random(1);
  const auto a = MakeRun(random, 6, 1, 1);
  auto b = MakeRun(random, 6, 1, 1);
  for (SweepRow& row : b) row.transport = "threads";
  EXPECT_THROW(FindDifferences(a, b), std::invalid_argument);
}

TEST(DifferencesTest, RowsWithoutAPartnerAreNamedAndThoseWithoutATimeLeftOut) {
  std::mt19937 random(1);
  const auto a = MakeRun(random, 6, 2, 1);
  auto b = MakeRun(random, 6, 3, 1);
  b.push_back(MakeRow(0, 4096, 1));
  b.back().status = Status::kWrongData;
  const Comparison comparison = FindDifferences(a, b);
  EXPECT_EQ(comparison.differences.size(), 2U);
  EXPECT_TRUE(comparison.only_a.empty());
  ASSERT_EQ(comparison.only_b.size(), 1U);
  EXPECT_THAT(comparison.only_b[0], HasSubstr("32 bytes"));
}

}  // namespace
}  // namespace hockney
