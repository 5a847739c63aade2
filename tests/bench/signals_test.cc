#include "bench/signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace hockney {
namespace {

TEST(InterruptGuardTest, TakesTheFirstSignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const InterruptGuard guard;
    EXPECT_EQ(InterruptGuard::Signal(), 0);
    std::raise(signal);
    EXPECT_EQ(InterruptGuard::Signal(), signal);
  }
}

TEST(InterruptGuardTest, SignalsThatComeTogetherAreOneWish) {
  const InterruptGuard guard;
  std::raise(SIGINT);
  std::raise(SIGINT);
  std::raise(SIGTERM);
  EXPECT_EQ(InterruptGuard::Signal(), SIGINT);
}

TEST(InterruptGuardDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        std::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptGuardDeathTest, SignalsEndTheProcessAfterIt) {
  EXPECT_EXIT(
      {
        { const InterruptGuard guard; }
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace hockney
