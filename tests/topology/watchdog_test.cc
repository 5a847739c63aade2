#include "topology/watchdog.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace hockney {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void Print(const std::string& cause) { fmt::print(stderr, "last words: {}\n", cause); }
void Sleep(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

TEST(WatchdogDeathTest, EndsTheProcessAndNamesRankAndCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watchdog watchdog(0.1, Print, 3);
        watchdog.Arm("all_reduce of MPI");
        watchdog.Disarm();
        watchdog.Arm("broadcast of MPI");
        Sleep(60000);
      },
      testing::ExitedWithCode(4), "last words: rank 3 waited 0.1 s in broadcast of MPI");
}

TEST(WatchdogDeathTest, EndsTheProcessEvenIfLastWordsThrow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watchdog watchdog(
            0.1, [](const std::string&) { throw std::runtime_error("disk full"); }, 0);
        watchdog.Arm("barrier");
        Sleep(60000);
      },
      testing::ExitedWithCode(4), "rank 0: last words failed: disk full");
}

TEST(WatchdogTest, LeavesDisarmedCallsAlone) {
  Watchdog watchdog(0.06, Print, 0);
  Sleep(200);  // never armed
  watchdog.Arm("barrier");
  watchdog.Disarm();
  Sleep(200);
}

TEST(WatchdogTest, CountsEveryCallAnew) {
  // Together far beyond the timeout, and armed at nearly every look.
  Watchdog watchdog(0.5, Print, 0);
  const auto end = steady_clock::now() + milliseconds(1500);
  while (steady_clock::now() < end) {
    watchdog.Arm("barrier");
    Sleep(1);
    watchdog.Disarm();
  }
}

TEST(WatchdogTest, RefusesATimeoutThatIsNotPositive) {
  EXPECT_THROW(Watchdog(0, Print, 0), std::invalid_argument);
  EXPECT_THROW(Watchdog(-1, Print, 0), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
