#include "tuner/fit/piecewise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Sizes from 8 bytes on, 1.5 times the one before.
std::vector<double> Sizes(int count) {
  std::vector<double> sizes;
  for (double n = 8; static_cast<int>(sizes.size()) < count; n = std::ceil(n * 1.5)) {
    sizes.push_back(n);
  }
  return sizes;
}

template <class Time>
std::vector<SizePoint> Curve(int count, const Time& time) {
  std::vector<SizePoint> points;
  for (const double n : Sizes(count)) points.push_back({n, time(n)});
  return points;
}

double OneLine(double n) { return 2e-6 + n / 10e9; }

// A protocol that copies once more from 8192 bytes on.
double TwoLines(double n) { return n < 8192 ? 1e-6 + n / 8e9 : 3e-6 + n / 4e9; }

TEST(FitPiecewiseTest, OneLineIsFoundExactly) {
  const PiecewiseFit fit = FitPiecewise(Curve(30, OneLine));
  ASSERT_EQ(fit.line.segments().size(), 1U);
  EXPECT_NEAR(fit.line.segments()[0].alpha_seconds, 2e-6, 1e-12);
  EXPECT_NEAR(fit.line.segments()[0].beta_seconds_per_byte, 1 / 10e9, 1e-16);
  EXPECT_LT(fit.largest_error, 1e-6);
  EXPECT_LT(fit.held_out_error, 1e-6);
  EXPECT_EQ(fit.points, 30U);
}

TEST(FitPiecewiseTest, AChangeOfProtocolIsASegment) {
  const PiecewiseFit fit = FitPiecewise(Curve(34, TwoLines));
  ASSERT_EQ(fit.line.segments().size(), 2U);
  const Segment& second = fit.line.segments()[1];
  EXPECT_GT(second.begin_bytes, 8192 / 1.5);
  EXPECT_LT(second.begin_bytes, 8192 * 1.5);
  EXPECT_NEAR(second.alpha_seconds, 3e-6, 1e-10);
  EXPECT_NEAR(second.beta_seconds_per_byte, 1 / 4e9, 1e-14);
}

TEST(FitPiecewiseTest, ARateThatChangesWithoutAJumpDoesSoWhereTheLinesMeet) {
  // As behind a shaper's bucket of 60 kB.
  const auto bent = [](double n) { return 10e-6 + n / 2e9 + std::max(0.0, n - 60e3) / 0.2e9; };
  const PiecewiseFit fit = FitPiecewise(Curve(30, bent));
  ASSERT_EQ(fit.line.segments().size(), 2U);
  EXPECT_NEAR(fit.line.segments()[1].begin_bytes, 60e3, 0.01 * 60e3);
  for (double n = 8; n < 1e6; n *= 1.1) EXPECT_NEAR(fit.line.Seconds(n) / bent(n), 1, 0.01) << n;
}

TEST(FitPiecewiseTest, NoiseOfLargeMessagesHidesNoProtocolOfSmallOnes) {
  const auto small = [](double n) { return n < 200 ? 1e-6 : 1.5e-6 + n / 5e9; };
  int missed = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> little(1, 0.01);
    std::normal_distribution<double> much(1, 0.4);
    const PiecewiseFit fit = FitPiecewise(Curve(30, [&](double n) {
      if (n < 2e3) return small(n) * little(random);
      return (5e-6 + n / 1e9) * std::max(0.2, much(random));
    }));
    for (const double n : {100.0, 600.0}) {
      if (std::abs(fit.line.Seconds(n) / small(n) - 1) > 0.1) ++missed;
    }
  }
  EXPECT_LE(missed, 1);
}

TEST(FitPiecewiseTest, OutliersAreFarBeyondTheNoiseAndThirtyPercent) {
  const auto outliers = [](double noise_share, double factor) {
    std::mt19937 random(2);
    std::normal_distribution<double> noise(1, noise_share);
    auto points = Curve(30, [&](double n) { return OneLine(n) * noise(random); });
    points[12].seconds = OneLine(points[12].bytes) * factor;
    return FitPiecewise(points).outliers;
  };
  EXPECT_EQ(outliers(0.01, 1.25).size(), 0U);
  ASSERT_EQ(outliers(0.01, 1.5).size(), 1U);
  EXPECT_EQ(outliers(0.01, 1.5)[0].bytes, Sizes(30)[12]);
  EXPECT_EQ(outliers(0.01, 1 / 1.5).size(), 1U);
  EXPECT_EQ(outliers(0.2, 1.5).size(), 0U);
}

TEST(FitPiecewiseTest, NoiseMakesNoSegmentsAndMovesLittle) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(1, 0.03);
  const PiecewiseFit fit =
      FitPiecewise(Curve(40, [&](double n) { return OneLine(n) * noise(random); }));
  EXPECT_EQ(fit.line.segments().size(), 1U);
  EXPECT_NEAR(fit.line.segments()[0].alpha_seconds, 2e-6, 0.05 * 2e-6);
  EXPECT_NEAR(fit.line.segments()[0].beta_seconds_per_byte, 1 / 10e9, 0.05 / 10e9);
  EXPECT_LT(fit.held_out_error, 0.05);
}

TEST(FitPiecewiseTest, PointsOffTheLineDoNotMoveIt) {
  auto points = Curve(30, OneLine);
  points[4].seconds *= 20;
  points[17].seconds *= 5;
  points[25].seconds /= 3;
  const PiecewiseFit fit = FitPiecewise(points);
  EXPECT_EQ(fit.line.segments().size(), 1U);
  for (const double n : Sizes(30)) EXPECT_NEAR(fit.line.Seconds(n) / OneLine(n), 1, 0.02) << n;
}

TEST(FitPiecewiseTest, AlphaIsNeverNegativeAndTimesNeverShrink) {
  // Times that bend upwards: a single line would begin below zero.
  const auto bent = Curve(30, [](double n) { return std::pow(n, 1.3) * 1e-10; });
  const PiecewiseFit fit = FitPiecewise(bent);
  EXPECT_GE(fit.line.segments()[0].alpha_seconds, 0);
  double before = 0;
  for (double n = 0; n < 1e6; n = n * 1.01 + 1) {
    const double now = fit.line.Seconds(n);
    EXPECT_GE(now, before) << n;
    before = now;
  }
}

TEST(FitPiecewiseTest, ADipInTheMiddleStillGivesGrowingTimes) {
  const auto dip = Curve(30, [](double n) { return OneLine(n) * (n > 1e3 && n < 1e5 ? 0.5 : 1); });
  const PiecewiseFit fit = FitPiecewise(dip);
  double before = 0;
  for (double n = 0; n < 1e7; n = n * 1.05 + 1) {
    EXPECT_GE(fit.line.Seconds(n), before) << n;
    before = fit.line.Seconds(n);
  }
}

TEST(FitPiecewiseTest, OrderAndRepetitionsDoNotMatter) {
  auto points = Curve(20, TwoLines);
  auto shuffled = points;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  for (const SizePoint& point : points) {
    shuffled.push_back({point.bytes, point.seconds * 1.5});
    shuffled.push_back({point.bytes, point.seconds / 1.5});
  }
  const PiecewiseFit a = FitPiecewise(points);
  const PiecewiseFit b = FitPiecewise(shuffled);
  ASSERT_EQ(a.line.segments().size(), b.line.segments().size());
  EXPECT_DOUBLE_EQ(a.line.Seconds(1e4), b.line.Seconds(1e4));
  EXPECT_EQ(b.points, 20U);
}

TEST(FitPiecewiseTest, WhatCannotBeFittedIsRefusedWithTheReason) {
  const auto refuses = [](std::vector<SizePoint> points, const char* reason) {
    EXPECT_THAT([&] { FitPiecewise(points); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(reason)));
  };
  refuses({}, "0 sizes, expected at least 3");
  refuses({{8, 1e-6}, {16, 2e-6}}, "2 sizes");
  refuses({{8, 1e-6}, {8, 2e-6}, {8, 3e-6}, {8, 4e-6}}, "1 sizes");
  refuses({{8, 1e-6}, {16, 0}, {32, 3e-6}}, "not positive");
  refuses({{8, 1e-6}, {16, -1}, {32, 3e-6}}, "not positive");
  refuses({{8, 1e-6}, {16, std::numeric_limits<double>::quiet_NaN()}, {32, 3e-6}}, "not a finite");
  refuses({{8, 1e-6}, {std::numeric_limits<double>::infinity(), 2e-6}, {32, 3e-6}}, "not a finite");
  refuses({{-8, 1e-6}, {16, 2e-6}, {32, 3e-6}}, "negative size");
  refuses({{8, 1e-6}, {16, 1e-6}, {32, 1e-6}, {64, 1e-6}}, "do not grow");
  refuses({{8, 4e-6}, {16, 3e-6}, {32, 2e-6}, {64, 1e-6}}, "do not grow");
}

TEST(PiecewiseLineTest, RefusesWhatIsNoTime) {
  const auto refuses = [](std::vector<Segment> segments) {
    EXPECT_THROW(PiecewiseLine(std::move(segments)), std::invalid_argument);
  };
  refuses({});
  refuses({{8, 1, 1}});
  refuses({{0, -1, 1}});
  refuses({{0, 1, 0}});
  refuses({{0, 1, 1}, {10, 0, 1}});
  refuses({{0, 1, 1}, {0, 2, 1}});
}

}  // namespace
}  // namespace hockney
