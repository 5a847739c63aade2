#include "topology/watchdog.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace hockney {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void Sleep(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

Watchdog::Options WithTimeout(double seconds, int rank = 0) {
  Watchdog::Options options;
  options.timeout_seconds = seconds;
  options.rank = rank;
  return options;
}

void PrintWords(const Ending& ending) {
  fmt::print(stderr, "lost {}, waiting \"{}\"\n", ending.lost_rank.value_or(-1),
             ending.waiting_for);
}

// This rank's links to `ranks` - 1 peers, whose ends are in `ends`.
std::vector<FileDescriptor> MakeLinks(int ranks, int rank, std::vector<FileDescriptor>* ends) {
  std::vector<FileDescriptor> links(ranks);
  ends->resize(ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    links[peer] = FileDescriptor(pair[0]);
    (*ends)[peer] = FileDescriptor(pair[1]);
  }
  return links;
}

class WatchdogDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, EndsTheProcessAndNamesRankCallAndActivity) {
  EXPECT_EXIT(
      {
        Watchdog watchdog(WithTimeout(0.1, 3));
        watchdog.SetLastWords(PrintWords);
        watchdog.SetActivity("all_reduce mpi, 8 bytes");
        watchdog.Arm("all_reduce of MPI");
        watchdog.Disarm();
        watchdog.Arm("broadcast of MPI");
        Sleep(60000);
      },
      testing::ExitedWithCode(4),
      "hockney: rank 3 waited 0.1 s in broadcast of MPI \\(all_reduce mpi, 8 bytes\\)\n"
      "lost -1, waiting \"rank 3 waited 0.1 s in broadcast of MPI\"");
}

TEST_F(WatchdogDeathTest, EndsTheProcessEvenIfLastWordsThrow) {
  EXPECT_EXIT(
      {
        Watchdog watchdog(WithTimeout(0.1));
        watchdog.SetLastWords([](const Ending&) { throw std::runtime_error("disk full"); });
        watchdog.Arm("barrier");
        Sleep(60000);
      },
      testing::ExitedWithCode(4), "rank 0: last words failed: disk full");
}

TEST_F(WatchdogDeathTest, TheLowestSurvivorNamesThePeerThatIsGone) {
  EXPECT_EXIT(
      {
        std::vector<FileDescriptor> ends;
        Watchdog::Options options = WithTimeout(60);
        options.peers = MakeLinks(3, 0, &ends);
        Watchdog watchdog(std::move(options));
        watchdog.SetLastWords(PrintWords);
        ends[2] = FileDescriptor();
        Sleep(60000);
      },
      testing::ExitedWithCode(4), "hockney: lost rank 2 .*\nlost 2, waiting \"\"");
}

TEST_F(WatchdogDeathTest, AHigherSurvivorEndsSilently) {
  EXPECT_EXIT(
      {
        std::vector<FileDescriptor> ends;
        Watchdog::Options options = WithTimeout(60, 1);
        options.peers = MakeLinks(3, 1, &ends);
        Watchdog watchdog(std::move(options));
        ends[2] = FileDescriptor();
        Sleep(60000);
      },
      testing::ExitedWithCode(4), "^$");
}

TEST_F(WatchdogDeathTest, APeerThatSaidWhyItEndsIsNotNamedAgain) {
  EXPECT_EXIT(
      {
        std::vector<FileDescriptor> ends;
        Watchdog::Options options = WithTimeout(60);
        options.peers = MakeLinks(2, 0, &ends);
        Watchdog watchdog(std::move(options));
        std::vector<FileDescriptor> back(2);
        back[0] = std::move(ends[1]);
        Watchdog::Options other = WithTimeout(60, 1);
        other.peers = std::move(back);
        Watchdog peer(std::move(other));
        peer.Leave(3);
        Sleep(60000);
      },
      testing::ExitedWithCode(3), "^$");
}

TEST_F(WatchdogDeathTest, APeerThatDoesNotAnswerIsNamed) {
  EXPECT_EXIT(
      {
        std::vector<FileDescriptor> ends;
        Watchdog::Options options = WithTimeout(0.1);
        options.peers = MakeLinks(3, 0, &ends);
        options.hosts.assign(3, "b");
        // Rank 1's watchdog answers whatever its work does; rank 2 has none that could.
        std::vector<FileDescriptor> back(3);
        back[0] = std::move(ends[1]);
        Watchdog::Options other = WithTimeout(60, 1);
        other.peers = std::move(back);
        Watchdog peer(std::move(other));
        Watchdog watchdog(std::move(options));
        watchdog.SetLastWords(PrintWords);
        watchdog.Arm("broadcast of MPI");
        Sleep(60000);
      },
      testing::ExitedWithCode(4),
      "in broadcast of MPI; rank 2 on b does not answer: it is stopped, or its host is\nlost 2,");
}

TEST_F(WatchdogDeathTest, AnIgnoredSignalEndsTheProcessWithSeven) {
  EXPECT_EXIT(
      {
        Watchdog::Options options = WithTimeout(60);
        options.signal = [] { return SIGTERM; };
        Watchdog watchdog(std::move(options));
        Sleep(60000);
      },
      testing::ExitedWithCode(7), "interrupted by signal 15");
}

TEST(WatchdogTest, APeerThatLeavesInGoodOrderIsNoLoss) {
  std::vector<FileDescriptor> ends;
  Watchdog::Options options = WithTimeout(60);
  options.peers = MakeLinks(2, 0, &ends);
  Watchdog watchdog(std::move(options));
  {
    std::vector<FileDescriptor> back(2);
    back[0] = std::move(ends[1]);
    Watchdog::Options other = WithTimeout(60, 1);
    other.peers = std::move(back);
    Watchdog peer(std::move(other));
    peer.Leave();
  }
  Sleep(200);
}

TEST(WatchdogTest, LeavesDisarmedCallsAlone) {
  Watchdog watchdog(WithTimeout(0.06));
  Sleep(200);  // never armed
  watchdog.Arm("barrier");
  watchdog.Disarm();
  Sleep(200);
}

TEST(WatchdogTest, CountsEveryCallAnew) {
  // Together far beyond the timeout, and armed at nearly every look.
  Watchdog watchdog(WithTimeout(0.5));
  const auto end = steady_clock::now() + milliseconds(1500);
  while (steady_clock::now() < end) {
    watchdog.Arm("barrier");
    Sleep(1);
    watchdog.Disarm();
  }
}

TEST(WatchdogTest, RefusesATimeoutThatIsNotPositive) {
  EXPECT_THROW(Watchdog(WithTimeout(0)), std::invalid_argument);
  EXPECT_THROW(Watchdog(WithTimeout(-1)), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
