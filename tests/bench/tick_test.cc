#include "bench/tick.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "topology/check.h"

namespace hockney {
namespace {

constexpr double kTimeout = 30;

TEST(TickStartTest, RanksLeaveOneAfterTheOtherHasNamedTheTime) {
  constexpr int kRanks = 2;
  constexpr int kRounds = 200;
  std::array<std::vector<std::int64_t>, kRanks> starts;
  RunThreadRanks(kRanks, kTimeout, [&](Session& session) {
    HostDomain domain(session, {});
    TickStart tick(domain, kTimeout);
    for (int i = 0; i < kRounds; ++i) {
      session.Barrier();
      tick.Wait();
      starts[session.rank()].push_back(NowNs());
    }
  });
  // No rank may start a round before the other has come to it, whatever the scheduler does.
  for (int i = 1; i < kRounds; ++i) {
    EXPECT_GT(starts[0][i], starts[1][i - 1]);
    EXPECT_GT(starts[1][i], starts[0][i - 1]);
  }
}

TEST(TickStartTest, ARankThatNamesNoTimePassesTheDeadline) {
  RunThreadRanks(2, kTimeout, [](Session& session) {
    HostDomain domain(session, {});
    TickStart tick(domain, 0.05);
    if (session.rank() == 1) {
      EXPECT_THROW(tick.Wait(), TimeoutError);
    }
    session.Barrier();
  });
}

TEST(LineProbeTest, EveryCallAnswersAndTheTimeIsPositive) {
  RunThreadRanks(3, kTimeout, [](Session& session) {
    HostDomain domain(session, {});
    LineProbe probe(domain, kTimeout);
    for (int i = 0; i < 5; ++i) {
      const double ns = probe.Measure();
      if (session.rank() == 0) {
        EXPECT_GT(ns, 0);
      } else {
        EXPECT_EQ(ns, 0);
      }
    }
  });
}

TEST(LineProbeTest, OneRankHasNobodyToAsk) {
  RunThreadRanks(1, kTimeout, [](Session& session) {
    HostDomain domain(session, {});
    LineProbe probe(domain, kTimeout);
    EXPECT_EQ(probe.Measure(), 0);
  });
}

}  // namespace
}  // namespace hockney
