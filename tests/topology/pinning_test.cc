#include "topology/pinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // setenv

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/requirements.h"
#include "topology/affinity.h"
#include "topology/launcher.h"
#include "topology/session.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::Optional;

constexpr double kTimeout = 30;

// Each test pins threads of RunThreadRanks, never its own. False if something outside bound us.
bool ThreadsAreFree() {
  PinResult result;
  RunThreadRanks(1, kTimeout, [&](Session&) { result = PinRank(0, 1); });
  return result.by == PinnedBy::kHockney;
}

TEST(PinRankTest, RanksGetCpusOfTheirOwn) {
  if (!RequireOrSkip("free_cpus", ThreadsAreFree(), "something outside bound this test")) return;
  const int ranks = static_cast<int>(AllowedCpus().size());
  RunThreadRanks(ranks, kTimeout, [&](Session& session) {
    const PinResult result = PinRank(session.rank(), ranks);
    EXPECT_EQ(result.by, PinnedBy::kHockney);
    EXPECT_FALSE(result.oversubscribed);
    EXPECT_EQ(FormatCpuList(AllowedCpus()), result.cpu_list);
    EXPECT_EQ(AllowedCpus().size(), 1U);
    EXPECT_FALSE(Oversubscribed(session));
  });
}

TEST(PinRankTest, MoreRanksThanCpusStayFree) {
  if (!RequireOrSkip("free_cpus", ThreadsAreFree(), "something outside bound this test")) return;
  const std::vector<int> allowed = AllowedCpus();
  const int ranks = static_cast<int>(allowed.size()) + 1;
  RunThreadRanks(ranks, kTimeout, [&](Session& session) {
    const PinResult result = PinRank(session.rank(), ranks);
    EXPECT_EQ(result.by, PinnedBy::kNone);
    EXPECT_TRUE(result.oversubscribed);
    EXPECT_EQ(AllowedCpus(), allowed);
    EXPECT_TRUE(Oversubscribed(session));
  });
}

TEST(PinRankTest, LauncherBindingIsLeftAlone) {
  if (!RequireOrSkip("two_cpus", AllowedCpus().size() >= 2, "one CPU only")) return;
  const int last = AllowedCpus().back();
  RunThreadRanks(2, kTimeout, [&](Session& session) {
    BindThread({last});
    const PinResult result = PinRank(session.rank(), 2);
    EXPECT_EQ(result.by, PinnedBy::kLauncher);
    EXPECT_EQ(result.cpu_list, FormatCpuList({last}));
    EXPECT_TRUE(Oversubscribed(session));  // both ranks were bound to one CPU
  });
}

TEST(PinRankTest, RefusesRanksOutsideTheRange) {
  EXPECT_THROW(PinRank(-1, 2), std::invalid_argument);
  EXPECT_THROW(PinRank(2, 2), std::invalid_argument);
}

// Hosts are made up: ranks of `hosts` equal parts, each with the boot id of its host.
void ShareAsHosts(int ranks, const std::vector<std::string>& boot_ids,
                  const std::function<void(int rank, const CpuShare&)>& check) {
  const int hosts = static_cast<int>(boot_ids.size());
  RunThreadRanks(ranks, kTimeout, [&](Session& session) {
    const int host = session.rank() * hosts / ranks;
    Session local = session.Split(host, session.rank());
    const std::string& id = boot_ids[host];
    check(session.rank(),
          ShareCpus(session, local, id.empty() ? std::nullopt : std::optional<std::string>(id)));
  });
}

TEST(ShareCpusTest, HostsOfOneKernelAreNotPinnedAndCountTogether) {
  if (!RequireOrSkip("free_cpus", ThreadsAreFree(), "something outside bound this test")) return;
  const std::vector<int> allowed = AllowedCpus();
  const int cpus = static_cast<int>(allowed.size());
  // As many ranks as CPUs on each of two hosts: twice as many on the kernel.
  ShareAsHosts(2 * cpus, {"same", "same"}, [&](int, const CpuShare& share) {
    EXPECT_TRUE(share.shared_kernel);
    EXPECT_EQ(share.kernel_ranks, 2 * cpus);
    EXPECT_EQ(share.pin.by, PinnedBy::kNone);
    EXPECT_TRUE(share.oversubscribed);
    EXPECT_EQ(AllowedCpus(), allowed);
  });
}

TEST(ShareCpusTest, TwoHostsThatFitOnTheirKernelAreNotOversubscribed) {
  if (!RequireOrSkip("two_cpus", AllowedCpus().size() >= 2, "one CPU only")) return;
  if (!RequireOrSkip("free_cpus", ThreadsAreFree(), "something outside bound this test")) return;
  ShareAsHosts(2, {"same", "same"}, [](int, const CpuShare& share) {
    EXPECT_EQ(share.pin.by, PinnedBy::kNone);
    EXPECT_FALSE(share.oversubscribed);
  });
}

TEST(ShareCpusTest, HostsWithKernelsOfTheirOwnArePinned) {
  if (!RequireOrSkip("free_cpus", ThreadsAreFree(), "something outside bound this test")) return;
  // The made-up kernels have the CPUs of this one, so each host may use them all.
  const int cpus = static_cast<int>(AllowedCpus().size());
  for (const std::vector<std::string>& boot_ids :
       {std::vector<std::string>{"one", "two"}, {"", ""}, {"one", ""}}) {
    ShareAsHosts(2 * cpus, boot_ids, [&](int, const CpuShare& share) {
      EXPECT_FALSE(share.shared_kernel);
      EXPECT_EQ(share.kernel_ranks, cpus);
      EXPECT_EQ(share.pin.by, PinnedBy::kHockney);
      EXPECT_FALSE(share.oversubscribed);
    });
  }
}

TEST(ShareCpusTest, OneHostBesideASharedKernelIsPinned) {
  if (!RequireOrSkip("free_cpus", ThreadsAreFree(), "something outside bound this test")) return;
  ShareAsHosts(3, {"same", "other", "same"}, [&](int rank, const CpuShare& share) {
    EXPECT_EQ(share.kernel_ranks, rank == 1 ? 1 : 2);
    EXPECT_EQ(share.pin.by, rank == 1 ? PinnedBy::kHockney : PinnedBy::kNone);
  });
}

TEST(ShareCpusTest, WhatTheLauncherBoundIsLeftAloneOnASharedKernelToo) {
  if (!RequireOrSkip("two_cpus", AllowedCpus().size() >= 2, "one CPU only")) return;
  const int first = AllowedCpus().front();
  RunThreadRanks(2, kTimeout, [&](Session& session) {
    BindThread({first});  // as mpirun binds the first rank of each of its hosts
    Session local = session.Split(session.rank(), 0);
    const CpuShare share = ShareCpus(session, local, "same");
    EXPECT_EQ(share.pin.by, PinnedBy::kLauncher);
    EXPECT_EQ(share.pin.cpu_list, FormatCpuList({first}));
    EXPECT_EQ(AllowedCpus(), std::vector<int>{first});
    EXPECT_TRUE(share.oversubscribed);
  });
}

TEST(PinOrderTest, CoresComeBeforeHyperthreads) {
  // Two cores numbered 0,4 and 1,5 as on most servers; 2 alone; 0 and 1 as siblings as on others.
  EXPECT_THAT(PinOrder({0, 1, 4, 5}, {{0, 4}, {1, 5}, {0, 4}, {1, 5}}), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(PinOrder({0, 1, 2, 3}, {{0, 1}, {0, 1}, {2, 3}, {2, 3}}), ElementsAre(0, 2, 1, 3));
  // A sibling that is not allowed does not make its core a second choice.
  EXPECT_THAT(PinOrder({2, 5}, {{2}, {1, 5}}), ElementsAre(2, 5));
}

TEST(CannotSpreadTest, AsksWhetherEachRankCanHaveACpu) {
  EXPECT_FALSE(CannotSpread({}));
  EXPECT_FALSE(CannotSpread({{0, 1}, {0}}));  // rank 0 has to give way
  EXPECT_FALSE(CannotSpread({{0, 1}, {1, 2}, {0}}));
  EXPECT_TRUE(CannotSpread({{0}, {0}}));
  EXPECT_TRUE(CannotSpread({{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_TRUE(CannotSpread({{0, 1, 2, 3}, {3}, {3}}));
  EXPECT_TRUE(CannotSpread({{}}));
}

TEST(LauncherTest, InnermostLauncherCountsAndBatchJobsDoNot) {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    unsetenv(name);
  }
  EXPECT_EQ(LauncherWorldSize(), std::nullopt);
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_FALSE(UnderLauncher());
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  EXPECT_THAT(LauncherWorldSize(), Optional(4));
  setenv("PMI_SIZE", "many", 1);
  EXPECT_THAT(LauncherWorldSize(), Optional(4));
  setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  EXPECT_THAT(LauncherWorldSize(), Optional(3));
  EXPECT_TRUE(UnderLauncher());
}

}  // namespace
}  // namespace hockney
