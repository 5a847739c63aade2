#include "bench/links/link_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hockney {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

double Line(std::uint64_t bytes) { return 10 + static_cast<double>(bytes) / 1e3; }

// A link whose rate falls to a tenth from 100 kB on, as a shaper's does.
double Bent(std::uint64_t bytes) {
  const double fast = 10 + static_cast<double>(bytes) / 1e3;
  return bytes <= 100'000 ? fast : fast + 9 * static_cast<double>(bytes - 100'000) / 1e3;
}

// What MeasureCurve asks for and gets.
struct Asked {
  std::map<std::uint64_t, int> times = {};
  std::vector<CurvePoint> curve = {};
};

template <class Time>
Asked Measure(std::uint64_t least, std::uint64_t most, const Time& time) {
  Asked asked;
  asked.curve = MeasureCurve(least, most, [&](std::uint64_t bytes) -> std::optional<double> {
    return time(bytes, asked.times[bytes]++);
  });
  return asked;
}

std::vector<std::uint64_t> SizesOf(const std::vector<CurvePoint>& curve) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(curve.size());
  for (const CurvePoint& point : curve) sizes.push_back(point.bytes);
  return sizes;
}

TEST(MeasureCurveTest, ALineNeedsPowersOfTwoOnly) {
  const Asked asked = Measure(8, 100, [](std::uint64_t n, int) { return Line(n); });
  EXPECT_THAT(SizesOf(asked.curve), ElementsAre(8, 16, 32, 64, 100));
  for (const auto& [bytes, times] : asked.times) EXPECT_EQ(times, kCurvePasses) << bytes;
  EXPECT_THAT(SizesOf(Measure(8, 8, [](std::uint64_t n, int) { return Line(n); }).curve),
              ElementsAre(8));
}

TEST(MeasureCurveTest, SizesAreDenseWhereTheRateChanges) {
  const Asked asked = Measure(8, 4 * kMiB, [](std::uint64_t n, int) { return Bent(n); });
  int near = 0;
  int far = 0;
  for (const CurvePoint& point : asked.curve) {
    EXPECT_DOUBLE_EQ(point.us, Bent(point.bytes));
    if (point.bytes > 50'000 && point.bytes < 400'000) ++near;
    if (point.bytes < 16'000) ++far;
  }
  EXPECT_GE(near, 7);  // three of them powers of two
  EXPECT_EQ(far, 11);  // 8 to 8192
}

TEST(MeasureCurveTest, ADisturbedMeasurementDoesNotCountNorAttractOthers) {
  const Asked asked = Measure(8, kMiB, [](std::uint64_t n, int earlier) {
    return n == 8192 && earlier == 1 ? 100 * Line(n) : Line(n);
  });
  EXPECT_EQ(asked.curve.size(), 18U);
  for (const CurvePoint& point : asked.curve) EXPECT_DOUBLE_EQ(point.us, Line(point.bytes));
}

TEST(MeasureCurveTest, ASizeWhoseTimesDifferIsMeasuredMoreOften) {
  const Asked asked = Measure(8, kMiB, [](std::uint64_t n, int earlier) {
    const double shares[] = {1, 1.2, 0.9, 1.1, 0.8, 1, 1, 1.2, 1};
    return n == 8192 ? shares[earlier] * Line(n) : Line(n);
  });
  EXPECT_EQ(asked.times.at(8192), kMostCurvePasses);
  EXPECT_EQ(asked.times.at(4096), kCurvePasses);
  for (const CurvePoint& point : asked.curve) EXPECT_DOUBLE_EQ(point.us, Line(point.bytes));
}

TEST(MeasureCurveTest, LongMessagesAreMeasuredOnceAndOverlongOnesNot) {
  // 1 MiB takes 21 ms; the first size above 75 ms is the last.
  const Asked asked = Measure(kMiB / 8, 64 * kMiB,
                              [](std::uint64_t n, int) { return static_cast<double>(n) / 50; });
  EXPECT_THAT(SizesOf(asked.curve),
              ElementsAre(kMiB / 8, kMiB / 4, kMiB / 2, kMiB, 2 * kMiB, 4 * kMiB));
  EXPECT_EQ(asked.times.at(kMiB / 4), kCurvePasses);
  EXPECT_EQ(asked.times.at(kMiB), 1);
}

TEST(MeasureCurveTest, TheUsersWishEndsIt) {
  int calls = 0;
  const auto curve = MeasureCurve(8, kMiB, [&](std::uint64_t bytes) -> std::optional<double> {
    if (++calls > 3) return std::nullopt;
    return Line(bytes);
  });
  EXPECT_THAT(SizesOf(curve), ElementsAre(8, 16, 32));
  EXPECT_EQ(calls, 4);
}

TEST(RateOfMoreTest, IsTheSlopeOverTheLargerHalf) {
  EXPECT_DOUBLE_EQ(RateOfMore({{1000, 7}, {2000, 8}, {3000, 5}, {4000, 10}}), 1.0);
  EXPECT_DOUBLE_EQ(RateOfMore({{3000, 5}, {4000, 10}}), 0.4);   // none of half the size
  EXPECT_DOUBLE_EQ(RateOfMore({{1000, 20}, {4000, 10}}), 0.4);  // faster than half of it
}

}  // namespace
}  // namespace hockney
