#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/cell_schedule.h"
#include "bench/timing.h"
#include "tests/bench/clock/virtual_rank.h"

namespace hockney {
namespace {

using testing::Distortion;
using testing::DistortionOf;
using testing::VirtualNetwork;
using testing::VirtualRank;

constexpr double kTimeout = 60;
constexpr int kRanks = 4;  // on two kernels

int KernelOf(int rank) { return rank / 2; }

// Ranks leave it together, but for one that comes out late.
class VirtualBarrier : public Prepared {
 public:
  VirtualBarrier(Session& session, VirtualRank& me, std::int64_t late_ns)
      : session_(session), me_(me), late_ns_(late_ns) {}
  void Run() override {
    me_.Meet(session_);
    me_.Advance(session_.rank() == 1 ? late_ns_ : 0);
  }

 private:
  Session& session_;
  VirtualRank& me_;
  std::int64_t late_ns_;
};

// When the ranks were in a call, in true time.
struct Truth {
  std::vector<std::int64_t> entries = {};
  std::vector<std::int64_t> exits = {};
};

// Ends on each rank a known time after the last rank has come.
class VirtualCollective : public Prepared {
 public:
  VirtualCollective(Session& session, VirtualRank& me, std::int64_t duration_ns, Truth& truth)
      : session_(session), me_(me), duration_ns_(duration_ns), truth_(truth) {}
  void Run() override {
    truth_.entries.push_back(me_.true_ns());
    me_.Meet(session_);
    me_.Advance(duration_ns_ + 100 * session_.rank());
    truth_.exits.push_back(me_.true_ns());
  }

 private:
  Session& session_;
  VirtualRank& me_;
  std::int64_t duration_ns_;
  Truth& truth_;
};

// A rank with all that a timer needs, in virtual time.
struct Rig {
  Rig(Session& session, VirtualNetwork& network, bool distorted, std::int64_t late_ns)
      : me(network, session.rank(),
           distorted ? DistortionOf(KernelOf(session.rank())) : Distortion{}),
        clock(session, GroupByClock(session, std::to_string(KernelOf(session.rank()))),
              {.clock = &me, .link = &me}),
        barrier(session, me, late_ns),
        watchdog({.timeout_seconds = kTimeout}),
        timer(session,
              {.barrier = &barrier,
               .watchdog = &watchdog,
               .clock = ClockKind::kHca3,
               .global = &clock},
              [] { return false; }) {}

  VirtualRank me;
  GlobalClock clock;
  VirtualBarrier barrier;
  Watchdog watchdog;
  Timer timer;
};

struct Case {
  bool distorted = true;
  std::int64_t late_ns = 0;
  std::int64_t duration_ns = 400'000;
  Start start = Start::kRoundTime;
  VirtualNetwork::Options network = {};
};

struct Result {
  std::vector<Sample> samples = {};
  std::vector<double> true_us = {};  // of all calls, also of those made again
};

Result Time(const Case& what, int samples) {
  VirtualNetwork network(what.network);
  std::array<Truth, kRanks> truths;
  Result result;
  RunThreadRanks(kRanks, kTimeout, [&](Session& session) {
    Rig rig(session, network, what.distorted, what.late_ns);
    VirtualCollective call(session, rig.me, what.duration_ns, truths[session.rank()]);
    const std::array<Timed, 1> things{Timed{.calls = {&call}, .label = "the call"}};
    std::vector<double> walls;
    const std::vector<int> order(samples, 0);
    const auto taken = rig.timer.Run(things, order, what.start, &walls);
    EXPECT_EQ(walls.size(), order.size());
    EXPECT_EQ(taken.size(), session.rank() == 0 ? order.size() : 0);
    if (session.rank() == 0) result.samples = taken;
  });
  for (std::size_t i = 0; i < truths[0].entries.size(); ++i) {
    std::int64_t first = truths[0].entries[i];
    std::int64_t last = truths[0].exits[i];
    for (const Truth& truth : truths) {
      first = std::min(first, truth.entries[i]);
      last = std::max(last, truth.exits[i]);
    }
    result.true_us.push_back(static_cast<double>(last - first) / 1e3);
  }
  return result;
}

constexpr double kReadsUs = 0.1;  // clock readings themselves take virtual time

TEST(TimerTest, TimesAreTrueWithinTheBoundThoughClocksAreWrong) {
  for (const Start start : {Start::kBarrier, Start::kRoundTime}) {
    const Result result = Time({.start = start}, 20);
    ASSERT_EQ(result.true_us.size(), result.samples.size());
    for (std::size_t i = 0; i < result.samples.size(); ++i) {
      const Sample& sample = result.samples[i];
      EXPECT_GT(sample.clock_error_us, 0);
      EXPECT_LT(sample.clock_error_us, 0.05 * sample.time_us);
      EXPECT_NEAR(sample.time_us, result.true_us[i], sample.clock_error_us + kReadsUs);
      EXPECT_EQ(sample.rank_us.size(), std::size_t{kRanks});
      EXPECT_EQ(sample.local_us, sample.rank_us[sample.slowest_rank]);
      ASSERT_TRUE(sample.entry_skew_ns.has_value());
      EXPECT_LE(*sample.entry_skew_ns, 1e3 * (sample.clock_error_us + kReadsUs) * 2);
    }
  }
}

TEST(TimerTest, OffsetsAndDriftChangeNoResult) {
  const Result with = Time({.distorted = true}, 20);
  const Result without = Time({.distorted = false}, 20);
  ASSERT_EQ(with.samples.size(), without.samples.size());
  for (std::size_t i = 0; i < with.samples.size(); ++i) {
    // Both are within their bound of what happened; what drifts most itself is 50 ppm of the time.
    EXPECT_NEAR(with.samples[i].time_us, without.samples[i].time_us,
                2 * with.samples[i].clock_error_us);
    EXPECT_NEAR(with.samples[i].local_us, without.samples[i].local_us,
                2 * with.samples[i].clock_error_us);
  }
}

TEST(TimerTest, APlaceThatARankComesLateToIsRunAgain) {
  const Result result = Time({.late_ns = 300'000}, 10);
  ASSERT_EQ(result.samples.size(), 10U);
  EXPECT_EQ(result.true_us.size(), 20U);  // with 100 us ahead all were late, with 400 us none
  for (const Sample& sample : result.samples) {
    EXPECT_NEAR(sample.time_us, 400.3, sample.clock_error_us * 2 + kReadsUs);
    EXPECT_LT(*sample.entry_skew_ns, 100'000);
  }
}

TEST(TimerTest, ARankThatIsAlwaysLateEndsAtABarrier) {
  const Result result = Time({.late_ns = 1'000'000'000}, 3);
  ASSERT_EQ(result.samples.size(), 3U);
  EXPECT_EQ(result.true_us.size(), 4 * 3U);
  for (const Sample& sample : result.samples) EXPECT_GT(*sample.entry_skew_ns, 900'000'000);
}

TEST(TimerTest, LocalTimesNeedNoCommonClock) {
  VirtualNetwork network({});
  RunThreadRanks(2, kTimeout, [&](Session& session) {
    VirtualRank me(network, session.rank(), {});
    VirtualBarrier barrier(session, me, 0);
    Watchdog watchdog({.timeout_seconds = kTimeout});
    Timer timer(session, {.barrier = &barrier, .watchdog = &watchdog, .clock = ClockKind::kLocal},
                [] { return false; });
    const std::array<Timed, 1> things{Timed{.calls = {&barrier}, .label = "a barrier"}};
    std::vector<double> walls;
    for (const Sample& sample :
         timer.Run(things, std::vector<int>{0, 0}, Start::kBarrier, &walls)) {
      EXPECT_EQ(sample.time_us, *std::max_element(sample.rank_us.begin(), sample.rank_us.end()));
      EXPECT_FALSE(sample.entry_skew_ns.has_value());
      EXPECT_EQ(sample.clock_error_us, 0);
    }
  });
}

// Measures two rows of one cell as a sweep does.
std::vector<Competitor> MeasureCell(const VirtualNetwork::Options& options) {
  VirtualNetwork network(options);
  std::vector<Competitor> result;
  std::array<std::array<Truth, 2>, kRanks> truths;
  RunThreadRanks(kRanks, kTimeout, [&](Session& session) {
    Rig rig(session, network, true, 0);
    SweepOptions sweep;
    std::vector<Competitor> rows(2);
    std::vector<std::unique_ptr<VirtualCollective>> calls;
    std::vector<Timed> things;
    for (int i = 0; i < 2; ++i) {
      calls.push_back(std::make_unique<VirtualCollective>(
          session, rig.me, i == 0 ? 200'000 : 20'000'000, truths[session.rank()][i]));
      things.push_back({.calls = {calls.back().get()}, .label = "a call"});
      rows[i].active = true;
      rows[i].row.clock = Name(ClockKind::kHca3);
      rows[i].label = i == 0 ? "the short one" : "the long one";
    }
    CellSchedule schedule(sweep, rows, 1, Start::kRoundTime);
    schedule.Begin();
    CellSchedule::Plan plan;
    while (true) {
      if (session.rank() == 0) plan = schedule.MakePlan(false);
      session.Broadcast(std::as_writable_bytes(std::span(&plan, 1)), 0);
      const std::vector<int> order = schedule.Follow(plan);
      if (plan.rounds == 0) break;
      std::vector<double> walls;
      const auto samples = rig.timer.Run(things, order, plan.start, &walls);
      if (session.rank() == 0) schedule.Take(order, samples, walls);
    }
    if (session.rank() != 0) return;
    schedule.SettleClock();
    result = std::move(rows);
  });
  return result;
}

TEST(CellClockTest, KeepsTheCommonClockWhereItIsKnownWell) {
  for (const Competitor& row : MeasureCell({.latency_ns = 1'000, .jitter_ns = 100})) {
    EXPECT_EQ(row.row.clock, "hca3");
    EXPECT_GT(row.row.clock_error_us.value(), 0.5);
    EXPECT_LT(row.row.clock_error_us.value(), 10);
    EXPECT_EQ(row.row.reason, "");
    EXPECT_FALSE(row.skews_ns.empty());
    EXPECT_NE(row.times_us, row.local_us);
  }
}

TEST(CellClockTest, JitterAboveFivePercentOfTheTimeFallsBackToLocalTimes) {
  const auto rows = MeasureCell({.latency_ns = 1'000, .jitter_ns = 200'000});
  ASSERT_EQ(rows.size(), 2U);
  for (const Competitor& row : rows) {  // both, since they are compared
    EXPECT_EQ(row.row.clock, "local");
    EXPECT_GT(row.row.clock_error_us.value(), 0.05 * 200);
    EXPECT_NE(row.row.reason.find("5 % of the short one"), std::string::npos) << row.row.reason;
    EXPECT_EQ(row.times_us, row.local_us);
    ASSERT_EQ(row.samples.size(), row.times_us.size());
    EXPECT_EQ(row.samples.back().time_us, row.times_us.back());
    EXPECT_TRUE(row.skews_ns.empty());
  }
}

}  // namespace
}  // namespace hockney
