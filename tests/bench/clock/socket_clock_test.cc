#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "bench/clock/global_clock.h"
#include "bench/clock/run_clock.h"
#include "bench/clock/socket_clock_link.h"
#include "tests/bench/clock/virtual_rank.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::Distortion;
using testing::DistortionOf;
using ::testing::HasSubstr;

constexpr double kTimeout = 60;

// The machine's clock, set wrong.
class DistortedClock : public LocalClock {
 public:
  explicit DistortedClock(const Distortion& distortion) : distortion_(distortion) {}
  std::int64_t NowNs() override { return distortion_.ToLocal(steady_.NowNs()); }
  void WaitUntil(std::int64_t local_ns) override {
    steady_.WaitUntil(distortion_.ToTrue(local_ns));
  }

 private:
  Distortion distortion_;
  SteadyClock steady_;
};

TEST(SocketClockTest, ThreadsWithWrongClocksAgreeWithinTheirBound) {
  for (const int ranks : {2, 3, 5}) {
    RunThreadRanks(ranks, kTimeout, [&](Session& session) {
      const int rank = session.rank();
      DistortedClock mine(DistortionOf(rank));
      SocketClockLink link(rank, ConnectPeers(session), kTimeout);
      GlobalClock clock(session, GroupByClock(session, std::to_string(rank)),
                        {.clock = &mine, .link = &link});
      const std::int64_t now = SteadyClock().NowNs();
      const std::int64_t truth = DistortionOf(0).ToLocal(now);
      const std::int64_t got = clock.ToGlobal(DistortionOf(rank).ToLocal(now));
      // A bound of 99 %, so not exactly once.
      EXPECT_LE(std::abs(static_cast<double>(got - truth)), 2e3 * clock.ErrorUs(rank, truth) + 10);
    });
  }
}

TEST(SocketClockTest, ARankThatIsGoneIsNamedAtOnce) {
  RunThreadRanks(2, kTimeout, [](Session& session) {
    SteadyClock steady;
    SocketClockLink link(session.rank(), ConnectPeers(session), kTimeout);
    if (session.rank() == 1) return;  // its links end with it
    try {
      GlobalClock clock(session, {.of_rank = {0, 1}, .firsts = {0, 1}},
                        {.clock = &steady, .link = &link});
      ADD_FAILURE() << "no error";
    } catch (const TimeoutError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 0 lost rank 1"));
    }
  });
}

TEST(SocketClockTest, ARankThatDoesNotAnswerIsNamedWithinTheDeadline) {
  RunThreadRanks(2, kTimeout, [](Session& session) {
    SteadyClock steady;
    SocketClockLink link(session.rank(), ConnectPeers(session), 0.05);
    if (session.rank() == 0) {
      session.Barrier();
      return;
    }
    try {
      GlobalClock clock(session, {.of_rank = {0, 1}, .firsts = {0, 1}},
                        {.clock = &steady, .link = &link});
      ADD_FAILURE() << "no error";
    } catch (const TimeoutError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1 waited 0.05 s for rank 0"));
    }
    session.Barrier();
  });
}

// Two kernels of two ranks, by name only.
std::string KernelName(int rank) { return rank < 2 ? "one" : "two"; }

TEST(RunClockTest, OneKernelHasOneClock) {
  RunThreadRanks(3, kTimeout, [](Session& session) {
    const RunClock clock(session, ClockKind::kAuto, {.clock_name = "one", .host = session.rank()},
                         nullptr);
    EXPECT_EQ(clock.kind(), ClockKind::kTsc);
    EXPECT_EQ(clock.global(), nullptr);
  });
}

TEST(RunClockTest, KernelsAreCompared) {
  RunThreadRanks(4, kTimeout, [](Session& session) {
    const RunClock clock(session, ClockKind::kAuto, {.clock_name = KernelName(session.rank())},
                         ConnectPeers);
    EXPECT_EQ(clock.kind(), ClockKind::kHca3);
    ASSERT_NE(clock.global(), nullptr);
    EXPECT_EQ(clock.global()->ErrorUs(1, 0), 0);
    EXPECT_GT(clock.global()->ErrorUs(2, clock.global()->ToGlobal(clock.global()->LocalNowNs())),
              0);
  });
}

TEST(RunClockTest, HostsOfAKernelAreComparedWhereAskedFor) {
  RunThreadRanks(2, kTimeout, [](Session& session) {
    const RunClock clock(session, ClockKind::kHca3, {.clock_name = "one", .host = session.rank()},
                         ConnectPeers);
    const std::int64_t now = SteadyClock().NowNs();
    const double error_us = clock.global()->ErrorUs(1, now);
    EXPECT_GT(error_us, 0);
    EXPECT_LE(std::abs(static_cast<double>(clock.global()->ToGlobal(1, now) - now)),
              2e3 * error_us);
  });
}

TEST(RunClockTest, KernelsShareNoTsc) {
  RunThreadRanks(3, kTimeout, [](Session& session) {
    try {
      const RunClock clock(session, ClockKind::kTsc, {.clock_name = KernelName(session.rank())},
                           nullptr);
      ADD_FAILURE() << "no error";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("--clock: \"tsc\": expected auto, hca3 or local"));
      EXPECT_NE(dynamic_cast<const AgreedMark*>(&error), nullptr);
    }
  });
}

TEST(RunClockTest, LocalTimesConnectNobody) {
  RunThreadRanks(3, kTimeout, [](Session& session) {
    const RunClock clock(session, ClockKind::kLocal, {.clock_name = KernelName(session.rank())},
                         nullptr);
    EXPECT_EQ(clock.kind(), ClockKind::kLocal);
    EXPECT_EQ(clock.global(), nullptr);
  });
}

TEST(RunClockTest, AMachineHasANameThatStays) {
  const Machine machine = ReadMachine();
  EXPECT_EQ(ClockName(machine), ClockName(machine));
  Machine other = machine;
  other.boot_id = "another";
  EXPECT_NE(ClockName(machine), ClockName(other));
}

}  // namespace
}  // namespace hockney
