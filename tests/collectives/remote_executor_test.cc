#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "collectives/executors/host/host_executor.h"
#include "collectives/wire/ucx_wire.h"
#include "tests/collectives/host_ground.h"

namespace hockney {
namespace {

using testing::ExecutorCase;

constexpr double kTimeoutSeconds = 60;

// Which host a rank pretends to be on; connections between hosts then go over UCX.
using HostOf = int (*)(int rank);

bool ReachesOtherHosts(const ExecutorCase& test) {
  return test.row->simple_uses_peer_memory && test.parameters.protocol == Protocol::kSimple;
}

std::string RunCases(int ranks, HostOf host_of, const std::vector<ExecutorCase>& cases,
                     std::uint64_t first_count = 0) {
  std::string result;
  RunThreadRanks(ranks, kTimeoutSeconds, [&](Session& session) {
    HostDomain::Options options;
    options.lanes = 8;
    options.limits.slot_bytes = 4096;
    options.limits.packet_slot_bytes = 1024;
    options.first_count = first_count;
    for (const ExecutorCase& test : cases) {
      options.arena_bytes = std::max(options.arena_bytes, testing::ArenaBytes(test));
    }
    UcxWire wire(session, std::vector<std::string>(ranks, "here"));
    Session local = session.Split(host_of(session.rank()), session.rank());
    HostDomain domain(session, local, wire, options);
    HostExecutor executor(session, domain,
                          {.oversubscribed = true, .timeout_seconds = kTimeoutSeconds});
    for (const ExecutorCase& test : cases) {
      const std::string wrong =
          testing::RunCase(session, testing::HostGround(domain, executor), test, 2);
      if (session.rank() == 0 && result.empty()) result = wrong;
    }
    session.Barrier();
  });
  return result;
}

std::vector<ExecutorCase> AllRows(int ranks, std::uint64_t count) {
  std::vector<ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      if (protocol == Protocol::kLl && !row.has_ll) continue;
      ExecutorCase test;
      test.row = &row;
      test.parameters.protocol = protocol;
      test.counts = EvenCounts({row.collective, ranks, ranks - 1}, count);
      if (!ReachesOtherHosts(test)) cases.push_back(test);
    }
  }
  return cases;
}

int OwnHost(int rank) { return rank; }
int TwoByTwo(int rank) { return rank / 2; }
int OddAndEven(int rank) { return rank % 2; }

TEST(RemoteExecutorTest, EveryRowBetweenTwoHosts) {
  EXPECT_EQ(RunCases(2, OwnHost, AllRows(2, 1001)), "");
}

TEST(RemoteExecutorTest, EveryRowWithSharedMemoryAndWireMixed) {
  EXPECT_EQ(RunCases(4, TwoByTwo, AllRows(4, 1001)), "");
  EXPECT_EQ(RunCases(5, OddAndEven, AllRows(5, 331)), "");
}

TEST(RemoteExecutorTest, EmptyAndTinyVectors) {
  EXPECT_EQ(RunCases(3, OwnHost, AllRows(3, 0)), "");
  EXPECT_EQ(RunCases(3, OwnHost, AllRows(3, 1)), "");
}

// More messages than a connection has slots, so that credits must come home.
TEST(RemoteExecutorTest, LongVectorsPassThroughAllSlots) {
  std::vector<ExecutorCase> cases = AllRows(3, 20000);
  std::erase_if(cases,
                [](const ExecutorCase& test) { return Name(test.row->collective) == "barrier"; });
  EXPECT_EQ(RunCases(3, OwnHost, cases), "");
}

TEST(RemoteExecutorTest, CountersMayWrap) {
  EXPECT_EQ(RunCases(2, OwnHost, AllRows(2, 20000), ~std::uint64_t{0} - 5), "");
}

TEST(RemoteExecutorTest, RefusesToReachTheMemoryOfAnotherHost) {
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "two_shot");
  test.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 100);
  try {
    RunCases(2, OwnHost, {test});
    FAIL() << "it ran";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("on another node"), std::string::npos) << error.what();
  }
}

TEST(RemoteExecutorTest, SaysWhichTransportAndDeviceUcxChose) {
  RunThreadRanks(2, kTimeoutSeconds, [](Session& session) {
    UcxWire wire(session, {"a", "b"});
    const int peer = 1 - session.rank();
    wire.Connect({&peer, 1}, kTimeoutSeconds);
    EXPECT_TRUE(wire.Transport(peer).starts_with("ucx:")) << wire.Transport(peer);
    EXPECT_NE(wire.Transport(peer), "ucx:unknown");
    EXPECT_NE(wire.Device(peer), "");
    session.Barrier();
  });
}

}  // namespace
}  // namespace hockney
