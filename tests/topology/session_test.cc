#include "topology/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include "topology/agree.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kTimeout = 30;  // never reached in these tests
constexpr double kShortTimeout = 0.05;

std::vector<std::byte> BytesOf(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(ThreadSessionTest, EveryRankRunsOnce) {
  for (const int ranks : {1, 2, 3, 8, 17}) {
    std::vector<std::atomic<int>> runs(ranks);
    RunThreadRanks(ranks, kTimeout, [&](Session& session) {
      EXPECT_EQ(session.ranks(), ranks);
      EXPECT_EQ(session.kind(), RankKind::kThreads);
      EXPECT_EQ(session.mpi_communicator(), nullptr);
      ++runs[session.rank()];
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadSessionTest, BarrierWaitsForAll) {
  std::atomic<int> arrived = 0;
  RunThreadRanks(4, kTimeout, [&](Session& session) {
    for (int round = 1; round <= 200; ++round) {
      ++arrived;
      session.Barrier();
      EXPECT_GE(arrived, 4 * round);
      session.Barrier();
    }
  });
}

TEST(ThreadSessionTest, BroadcastCopiesTheRoot) {
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    for (int root = 0; root < 3; ++root) {
      std::array<std::byte, 5> bytes{};
      if (session.rank() == root) bytes.fill(std::byte(root + 1));
      session.Broadcast(bytes, root);
      EXPECT_THAT(bytes, testing::Each(std::byte(root + 1)));
    }
    EXPECT_THROW(session.Broadcast({}, 3), std::invalid_argument);
  });
}

TEST(ThreadSessionTest, AllGatherTakesUnequalLengths) {
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    const std::string mine(session.rank() * 2, static_cast<char>('a' + session.rank()));
    EXPECT_THAT(session.AllGather(std::as_bytes(std::span(mine))),
                ElementsAre(BytesOf(""), BytesOf("bb"), BytesOf("cccc")));
  });
}

TEST(ThreadSessionTest, AllGatherSharedReturnsTheSameObjects) {
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    const auto all = session.AllGatherShared(std::make_shared<const int>(10 + session.rank()));
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(*std::static_pointer_cast<const int>(all[r]), 10 + r);
    }
  });
}

TEST(ThreadSessionTest, SplitRanksByKeyThenOldRank) {
  RunThreadRanks(5, kTimeout, [&](Session& session) {
    const int old_rank = session.rank();
    Session part = session.Split(old_rank % 2, -old_rank);  // 4 2 0 and 3 1
    const std::array mine{std::byte(old_rank)};
    const auto all = part.AllGather(mine);
    ASSERT_EQ(part.ranks(), old_rank % 2 == 0 ? 3 : 2);
    EXPECT_EQ(part.rank(), (part.ranks() - 1) - old_rank / 2);
    for (int r = 0; r + 1 < part.ranks(); ++r) EXPECT_GT(all[r][0], all[r + 1][0]);

    EXPECT_EQ(session.SplitSharedMemory().ranks(), 5);
    EXPECT_EQ(session.Split(0, 7).rank(), old_rank);
    EXPECT_THROW(session.Split(-1, 0), std::invalid_argument);
    session.Barrier();
  });
}

TEST(ThreadSessionTest, DeadlineNamesCallAndMissingRank) {
  try {
    RunThreadRanks(3, kShortTimeout, [&](Session& session) {
      if (session.rank() != 1) session.Barrier();
    });
    FAIL() << "no exception";
  } catch (const TimeoutError& error) {
    EXPECT_THAT(error.what(), HasSubstr("Barrier for rank 1"));
  }
}

TEST(ThreadSessionTest, FirstExceptionReleasesTheOthersAndIsRethrown) {
  std::atomic<int> released = 0;
  try {
    RunThreadRanks(4, kTimeout, [&](Session& session) {
      Session part = session.Split(session.rank() % 2, 0);
      if (session.rank() == 2) throw std::domain_error("rank 2 gave up");
      try {
        if (session.rank() == 0) part.Barrier();  // rank 2 belongs to this part
        session.Barrier();
      } catch (const TimeoutError& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 2 gave up"));
        ++released;
        throw;
      }
    });
    FAIL() << "no exception";
  } catch (const std::domain_error& error) {
    EXPECT_STREQ(error.what(), "rank 2 gave up");
  }
  EXPECT_EQ(released, 3);
}

TEST(ThreadSessionTest, RefusesNoRanks) {
  EXPECT_THROW(RunThreadRanks(0, kTimeout, [](Session&) {}), std::invalid_argument);
}

TEST(RunOnAllOrThrowTest, EveryRankThrowsTheFirstFailure) {
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    RunOnAllOrThrow(session, [] {});
    try {
      RunOnAllOrThrow(session, [&] {
        if (session.rank() > 0) throw EnvironmentError("no memory");
      });
      FAIL() << "no exception";
    } catch (const EnvironmentError& error) {
      EXPECT_STREQ(error.what(), "rank 1: no memory");
    }
    EXPECT_THROW(RunOnAllOrThrow(session,
                                 [&] {
                                   if (session.rank() == 2) throw std::invalid_argument("count -1");
                                 }),
                 std::invalid_argument);
    EXPECT_THROW(RunOnAllOrThrow(session,
                                 [&] {
                                   if (session.rank() == 0) throw std::logic_error("ours");
                                 }),
                 BackendError);
    session.Barrier();
  });
}

}  // namespace
}  // namespace hockney
