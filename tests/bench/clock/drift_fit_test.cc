#include "bench/clock/drift_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "bench/clock/clock_tree.h"

namespace hockney {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Points of a clock that is `offset` ahead and `drift` faster, in a network without jitter.
std::vector<ClockPoint> PerfectPoints(std::int64_t offset, double drift, int count) {
  std::vector<ClockPoint> points;
  for (int i = 0; i < count; ++i) {
    const std::int64_t local = kSecond + i * 10'000'000;
    points.push_back(
        {.local_ns = local,
         .remote_ns = local + offset + std::llround(static_cast<double>(local) * drift),
         .trip_ns = 20'000});
  }
  return points;
}

TEST(ClockMapTest, InvertsExactlyAtAnyDistance) {
  const ClockMap map{.from_ns = 7 * kSecond, .to_ns = 400'000 * kSecond + 3, .drift = 5e-5};
  for (const std::int64_t at : {0 * kSecond, 7 * kSecond, 100'000 * kSecond}) {
    EXPECT_NEAR(static_cast<double>(map.Invert(map.Apply(at)) - at), 0, 1);
  }
  EXPECT_EQ(map.Apply(8 * kSecond), 400'001 * kSecond + 3 + 50'000);
}

TEST(ClockMapTest, ThenAppliesOneAfterTheOther) {
  const ClockMap first{.from_ns = kSecond, .to_ns = 50 * kSecond, .drift = 5e-5};
  const ClockMap second{.from_ns = 49 * kSecond, .to_ns = -kSecond, .drift = -3e-5};
  const ClockMap both = first.Then(second);
  for (const std::int64_t at : {kSecond, 3 * kSecond, 90 * kSecond}) {
    EXPECT_NEAR(static_cast<double>(both.Apply(at) - second.Apply(first.Apply(at))), 0, 2);
  }
}

TEST(DriftFitTest, FindsOffsetAndDrift) {
  DriftFit fit;
  fit.Add(PerfectPoints(5'000'000, 50e-6, 20));
  EXPECT_NEAR(fit.fit().map.drift, 50e-6, 1e-9);
  const std::int64_t later = 3 * kSecond;
  EXPECT_NEAR(static_cast<double>(fit.fit().map.Apply(later) - later), 5'000'000 + 150'000, 10);
  // Half the round trip is all that perfect points leave open.
  EXPECT_NEAR(fit.fit().ErrorNs(fit.fit().newest_ns), 10'000, 100);
}

TEST(DriftFitTest, LongRoundTripsCountLittle) {
  std::vector<ClockPoint> points = PerfectPoints(5'000'000, 50e-6, 20);
  for (std::size_t i = 0; i < points.size(); i += 3) {  // all of the delay on one way
    points[i].trip_ns += 400'000;
    points[i].remote_ns += 200'000;
  }
  DriftFit fit;
  fit.Add(points);
  const std::int64_t at = fit.fit().newest_ns;
  const double truth = 5'000'000 + static_cast<double>(at) * 50e-6;
  EXPECT_NEAR(static_cast<double>(fit.fit().map.Apply(at) - at), truth, 500);
}

TEST(DriftFitTest, TheBoundGrowsWithAge) {
  DriftFit fit;
  fit.Add(PerfectPoints(0, 0, 20));
  const std::int64_t newest = fit.fit().newest_ns;
  EXPECT_GE(fit.fit().ErrorNs(newest + 10 * kSecond), fit.fit().ErrorNs(newest) + 1'000);
}

TEST(DriftFitTest, ACheckThatMissesRaisesTheBound) {
  DriftFit fit;
  const std::vector<ClockPoint> points = PerfectPoints(0, 0, 21);
  fit.Add({points.begin(), points.end() - 1});
  const std::int64_t newest = fit.fit().newest_ns;
  ClockPoint last = points.back();
  fit.Check({last});
  const double before = fit.fit().ErrorNs(newest);
  last.remote_ns += 30'000;
  fit.Check({last});
  EXPECT_NEAR(fit.fit().ErrorNs(newest) - before, 30'000, 1'000);
  // It came up within a quarter of a second and may go on.
  EXPECT_GT(fit.fit().ErrorNs(newest + kSecond) - before, 30'000 + 4 * 30'000);
  last.trip_ns += 60'000;  // which may as well be the point's own error
  fit.Check({last});
  EXPECT_NEAR(fit.fit().ErrorNs(newest), before, 1'000);
}

TEST(DriftFitTest, OldPointsAreForgotten) {
  DriftFit fit;
  fit.Add(PerfectPoints(0, 50e-6, 20));
  std::vector<ClockPoint> points = PerfectPoints(9'000'000, 20e-6, 20);
  for (ClockPoint& point : points) {
    point.local_ns += 100 * kSecond;
    point.remote_ns += 100 * kSecond;
  }
  fit.Add(points);
  EXPECT_NEAR(fit.fit().map.drift, 20e-6, 1e-9);
}

TEST(ClockTreeTest, AllLearnOnceFromOneWhoHasLearned) {
  for (const int nodes : {1, 2, 3, 4, 5, 7, 8, 13, 16, 1000}) {
    std::set<int> knowing{0};
    int rounds = 0;
    for (int round = 0; round < ClockRoundCount(nodes); ++round, ++rounds) {
      std::set<int> learned;
      for (int node = 0; node < nodes; ++node) {
        for (const ClockRound& part : ClockRounds(node, nodes)) {
          if (part.round != round || !part.learns) continue;
          EXPECT_EQ(part.peer, ClockParent(node, nodes));
          EXPECT_TRUE(knowing.contains(part.peer)) << node << " of " << nodes;
          EXPECT_TRUE(learned.insert(node).second);
          // The peer answers in the same round, and nobody else.
          int answers = 0;
          for (const ClockRound& theirs : ClockRounds(part.peer, nodes)) {
            if (theirs.round == round && !theirs.learns) answers += theirs.peer == node ? 1 : 100;
          }
          EXPECT_EQ(answers, 1);
        }
      }
      knowing.insert(learned.begin(), learned.end());
    }
    EXPECT_EQ(static_cast<int>(knowing.size()), nodes);
    EXPECT_LE(rounds, static_cast<int>(std::log2(nodes)) + 1);
  }
}

}  // namespace
}  // namespace hockney
