#include "tuner/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace hockney {
namespace {

// 1, 2, ..., n
std::vector<double> Ramp(int n) {
  std::vector<double> ramp(static_cast<std::size_t>(n));
  std::iota(ramp.begin(), ramp.end(), 1.0);
  return ramp;
}

TEST(StatisticsTest, FirstCallDoesNotMoveTheMedian) {
  const std::vector<double> series = {214477, 14, 5, 3, 4, 5, 4, 4, 4, 4};
  const Summary summary = Summarize(series);
  EXPECT_EQ(summary.samples, 10U);
  EXPECT_EQ(summary.median, 4);
  EXPECT_EQ(Quantile(series, 0.5), 4);
  EXPECT_EQ(summary.min, 3);
  EXPECT_DOUBLE_EQ(summary.mean, 21452.4);
  EXPECT_EQ(summary.p99, 214477);
}

TEST(StatisticsTest, MedianOfEvenCountIsBetweenTheMiddleTwo) {
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  const double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(Median(std::vector<double>{huge, huge}), huge);
}

TEST(StatisticsTest, OneValueGivesItself) {
  const Summary summary = Summarize(std::vector<double>{7.5});
  for (const double value : {summary.median, summary.ci_low, summary.ci_high, summary.min,
                             summary.mean, summary.p95, summary.p99}) {
    EXPECT_EQ(value, 7.5);
  }
  EXPECT_FALSE(summary.ci_confident);
}

TEST(StatisticsTest, EmptyAndNonFiniteInputThrows) {
  const std::vector<double> none;
  EXPECT_THROW(Median(none), std::invalid_argument);
  EXPECT_THROW(Mean(none), std::invalid_argument);
  EXPECT_THROW(Min(none), std::invalid_argument);
  EXPECT_THROW(Summarize(none), std::invalid_argument);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> samples = {1, bad, 3};
    EXPECT_THROW(Median(samples), std::invalid_argument);
    EXPECT_THROW(Quantile(samples, 0.5), std::invalid_argument);
    EXPECT_THROW(Mean(samples), std::invalid_argument);
    EXPECT_THROW(Min(samples), std::invalid_argument);
    EXPECT_THROW(MedianInterval(samples), std::invalid_argument);
    EXPECT_THROW(Summarize(samples), std::invalid_argument);
  }
}

TEST(StatisticsTest, QuantileIsNearestRank) {
  EXPECT_EQ(Quantile(Ramp(20), 0.95), 19);  // 0.95 * 20 = 19 exactly, although not in binary
  EXPECT_EQ(Quantile(Ramp(19), 0.95), 19);
  EXPECT_EQ(Quantile(Ramp(100), 0.99), 99);
  EXPECT_EQ(Quantile(Ramp(99), 0.99), 99);
  EXPECT_EQ(Quantile(Ramp(200), 0.99), 198);
  EXPECT_EQ(Quantile(Ramp(5), 0), 1);
  EXPECT_EQ(Quantile(Ramp(5), 1), 5);
  EXPECT_THROW(Quantile(Ramp(5), 1.5), std::invalid_argument);
  EXPECT_THROW(Quantile(Ramp(5), std::nan("")), std::invalid_argument);
}

TEST(StatisticsTest, FewerThanSixSamplesGiveTheirRangeWithoutConfidence) {
  const Interval five = MedianInterval(Ramp(5));
  EXPECT_EQ(five.low, 1);
  EXPECT_EQ(five.high, 5);
  EXPECT_FALSE(five.confident);
  const Interval six = MedianInterval(Ramp(6));
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  EXPECT_TRUE(six.confident);
}

TEST(StatisticsTest, IntervalRanksAreThoseOfTheTables) {
  // Published tables of the sign-test interval: n = 9 -> 2..8, 12 -> 3..10, 20 -> 6..15, 25
  // -> 8..18.
  for (const auto& [n, low, high] : {std::tuple{9, 2, 8}, {12, 3, 10}, {20, 6, 15}, {25, 8, 18}}) {
    const Interval interval = MedianInterval(Ramp(n));
    EXPECT_EQ(interval.low, low) << n;
    EXPECT_EQ(interval.high, high) << n;
  }
  const Interval thirty = MedianInterval(Ramp(30));  // (30 -+ 1.96 * 5.477) / 2 = 9.63, 20.37
  EXPECT_EQ(thirty.low, 9);
  EXPECT_EQ(thirty.high, 22);
  const Interval hundred = MedianInterval(Ramp(100));  // 40.2, 59.8
  EXPECT_EQ(hundred.low, 40);
  EXPECT_EQ(hundred.high, 61);
}

TEST(StatisticsTest, SkewBimodalAndTies) {
  std::vector<double> skewed(95, 10.0);
  skewed.insert(skewed.end(), 5, 1e6);
  EXPECT_EQ(Summarize(skewed).median, 10);
  EXPECT_EQ(Summarize(skewed).p95, 10);
  EXPECT_EQ(Summarize(skewed).p99, 1e6);

  std::vector<double> bimodal(50, 1.0);
  bimodal.insert(bimodal.end(), 50, 3.0);
  EXPECT_EQ(Summarize(bimodal).median, 2);
  EXPECT_EQ(Summarize(bimodal).ci_low, 1);
  EXPECT_EQ(Summarize(bimodal).ci_high, 3);

  const Interval tied = MedianInterval(std::vector<double>(40, 5.0));
  EXPECT_EQ(tied.low, 5);
  EXPECT_EQ(tied.high, 5);
}

TEST(RatioOfMediansTest, LaunchesAreTheUnit) {
  const std::vector<std::vector<double>> a = {{2, 2, 9}, {4, 4}, {6}, {8}, {30}};
  const std::vector<std::vector<double>> b = {{1, 1, 1}, {2, 2}, {3}, {4}, {10}};
  std::vector<LaunchSamples> launches;
  for (std::size_t i = 0; i < a.size(); ++i) launches.push_back({a[i], b[i]});
  const Ratio ratio = RatioOfMedians(launches);
  EXPECT_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.interval.low, 2);
  EXPECT_EQ(ratio.interval.high, 3);  // P(at least 3 of 5 draws hit the odd launch) = 5.8 % > 2.5 %
  EXPECT_TRUE(ratio.interval.confident);
}

TEST(RatioOfMediansTest, SameInputGivesSameInterval) {
  const std::vector<double> one = {1};
  std::vector<std::vector<double>> a(9);
  for (int i = 0; i < 9; ++i) a[i] = {1 + 0.01 * i};
  std::vector<LaunchSamples> launches;
  launches.reserve(a.size());
  for (const auto& samples : a) launches.push_back({samples, one});
  const Ratio first = RatioOfMedians(launches);
  const Ratio second = RatioOfMedians(launches);
  EXPECT_EQ(first.interval.low, second.interval.low);
  EXPECT_EQ(first.interval.high, second.interval.high);
  EXPECT_EQ(first.value, 1.04);
  EXPECT_LT(first.interval.low, 1.04);
  EXPECT_GT(first.interval.high, 1.04);
}

TEST(RatioOfMediansTest, RefusesWhatHasNoRatio) {
  const std::vector<double> zero = {0};
  const std::vector<double> one = {1};
  const std::vector<LaunchSamples> by_zero = {{one, zero}};
  EXPECT_THROW(RatioOfMedians(by_zero), std::invalid_argument);
  EXPECT_THROW(RatioOfMedians({}), std::invalid_argument);
  const std::vector<LaunchSamples> single = {{one, one}};
  EXPECT_THROW(RatioOfMedians(single, 0), std::invalid_argument);
  EXPECT_FALSE(RatioOfMedians(single).interval.confident);
}

TEST(StoppingRuleTest, NeedsThirtySamplesAndANarrowInterval) {
  const StoppingRule rule;
  EXPECT_EQ(rule.Check({}, 0), StopReason::kContinue);
  EXPECT_EQ(rule.Check(std::vector<double>(29, 5.0), 0.1), StopReason::kContinue);
  EXPECT_EQ(rule.Check(std::vector<double>(30, 5.0), 0.1), StopReason::kConverged);
  EXPECT_EQ(rule.Check(Ramp(30), 0.1), StopReason::kContinue);
  EXPECT_EQ(rule.Check(Ramp(30), 0.5), StopReason::kBudget);
  EXPECT_EQ(rule.Check({}, 0.5), StopReason::kBudget);
}

TEST(StoppingRuleTest, TwoClockTicksAreFineEnough) {
  std::vector<double> coarse(20, 10.0);
  coarse.insert(coarse.end(), 20, 14.0);  // half-width 2 of a median 12
  EXPECT_EQ(StoppingRule{}.Check(coarse, 0), StopReason::kContinue);
  EXPECT_EQ(StoppingRule{.clock_tick = 0.9}.Check(coarse, 0), StopReason::kContinue);
  EXPECT_EQ(StoppingRule{.clock_tick = 1}.Check(coarse, 0), StopReason::kConverged);
}

TEST(WarmUpRuleTest, SettlesWhenTwoWindowsAgree) {
  const WarmUpRule rule;
  EXPECT_FALSE(rule.Settled({}));
  EXPECT_FALSE(rule.Settled(std::vector<double>(19, 1.0)));
  EXPECT_TRUE(rule.Settled(std::vector<double>(20, 1.0)));
  std::vector<double> falling(10, 2.0);
  falling.insert(falling.end(), 10, 1.0);
  EXPECT_FALSE(rule.Settled(falling));
  falling.insert(falling.end(), 10, 1.04);
  EXPECT_TRUE(rule.Settled(falling));
  EXPECT_FALSE(WarmUpRule{.min_samples = 31}.Settled(falling));
}

}  // namespace
}  // namespace hockney
