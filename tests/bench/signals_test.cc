#include "bench/signals.h"

#include <gtest/gtest.h>

#include <csignal>

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

TEST(InterruptGuardDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGTERM);
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
