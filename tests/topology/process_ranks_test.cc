#include "topology/process_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <vector>

#include "collectives/memory/host_memory.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::HasSubstr;

// Throws, because the assertions of a test do not reach the parent.
void Require(bool holds, int line = __builtin_LINE()) {
  if (!holds) throw std::logic_error("line " + std::to_string(line));
}

// Runs `body` in rank processes; its result, or 99 if it throws, is the exit code.
ProcessOutcome RunRanks(int ranks, const std::function<int(Session&)>& body,
                        double timeout_seconds = 20) {
  ProcessOutcome outcome;
  auto session = RunProcessRanks(ranks, timeout_seconds, &outcome);
  if (!session) return outcome;
  try {
    _exit(body(*session));
  } catch (const std::exception& error) {
    fprintf(stderr, "rank %d: %s\n", session->rank(), error.what());
    _exit(99);
  }
}

TEST(ProcessRanksTest, CallsMeanWhatTheySay) {
  const ProcessOutcome outcome = RunRanks(3, [](Session& session) {
    Require(session.ranks() == 3 && session.kind() == RankKind::kProcesses);
    Require(session.mpi_communicator() == nullptr);
    session.Barrier();
    for (int root = 0; root < 3; ++root) {
      std::array<std::byte, 5> bytes{};
      if (session.rank() == root) bytes.fill(std::byte(root + 1));
      session.Broadcast(bytes, root);
      for (const std::byte byte : bytes) Require(byte == std::byte(root + 1));
    }
    const std::vector<std::byte> mine(2 * session.rank(), std::byte(session.rank()));
    const auto all = session.AllGather(mine);
    for (int r = 0; r < 3; ++r) Require(all[r] == std::vector<std::byte>(2 * r, std::byte(r)));
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.cause;
}

TEST(ProcessRanksTest, LongMessagesPass) {
  const ProcessOutcome outcome = RunRanks(3, [](Session& session) {
    const std::vector<std::byte> mine(5'000'000, std::byte(session.rank() + 1));
    const auto all = session.AllGather(mine);
    for (int r = 0; r < 3; ++r) {
      Require(all[r].size() == mine.size() && all[r].back() == std::byte(r + 1));
    }
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.cause;
}

TEST(ProcessRanksTest, SplitsRankByKeyAndWorkSideBySide) {
  const ProcessOutcome outcome = RunRanks(5, [](Session& session) {
    const int old_rank = session.rank();
    Session part = session.Split(old_rank % 2, -old_rank);  // 4 2 0 and 3 1
    Require(part.ranks() == (old_rank % 2 == 0 ? 3 : 2));
    Require(part.rank() == (old_rank % 2 == 0 ? 2 - old_rank / 2 : 1 - old_rank / 2));
    for (int i = 0; i < 100; ++i) {
      const std::byte mine = std::byte(old_rank);
      const auto all = part.AllGather({&mine, 1});
      Require(all[part.rank()][0] == mine);
      if (i % 10 == 0) session.Barrier();
    }
    Session local = session.SplitSharedMemory();
    Require(local.rank() == old_rank && local.ranks() == 5);
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.cause;
}

TEST(ProcessRanksTest, SharedMemoryIsOneMemory) {
  const ProcessOutcome outcome = RunRanks(4, [](Session& session) {
    const auto memory = HostMemory::Create(session, 5000 + session.rank());
    memory->Segment((session.rank() + 1) % 4)[7] = std::byte(session.rank());
    session.Barrier();
    Require(memory->Segment(session.rank())[7] == std::byte((session.rank() + 3) % 4));
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.cause;
}

TEST(ProcessRanksTest, TheFirstFailureInRankOrderIsTheResult) {
  const auto outcome = RunRanks(3, [](Session& session) { return session.rank() * 5; });
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.cause, "");
  EXPECT_FALSE(outcome.all_lost);
}

TEST(ProcessRanksTest, ARankThatIsKilledEndsWithFour) {
  const auto outcome = RunRanks(2, [](Session& session) {
    if (session.rank() == 1) raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.cause, HasSubstr("rank 1 (pid "));
  EXPECT_THAT(outcome.cause, HasSubstr("signal 9"));
}

TEST(ProcessRanksTest, AWaitForARankThatIsGoneEndsAtOnce) {
  const auto outcome = RunRanks(
      2,
      [](Session& session) {
        if (session.rank() == 1) return 0;
        try {
          session.Barrier();
        } catch (const TimeoutError& error) {
          return std::string(error.what()) == "rank 0 lost rank 1 in Barrier" ? 42 : 43;
        }
        return 44;
      },
      1000);
  EXPECT_EQ(outcome.exit_code, 42);
}

TEST(ProcessRanksTest, ARankThatDoesNotComePassesTheDeadline) {
  const auto outcome = RunRanks(
      2,
      [](Session& session) {
        if (session.rank() == 1) sleep(1);
        try {
          session.Barrier();
        } catch (const TimeoutError&) {
          return 42;
        }
        return 0;
      },
      0.2);
  EXPECT_EQ(outcome.exit_code, 42);
}

TEST(ProcessRanksTest, AStoppedRankIsKilledAfterAFailure) {
  const auto outcome = RunRanks(2, [](Session& session) {
    if (session.rank() == 1) raise(SIGSTOP);
    return 9;
  });
  EXPECT_EQ(outcome.exit_code, 9);
  EXPECT_THAT(outcome.cause, HasSubstr("rank 1"));
}

}  // namespace
}  // namespace hockney
