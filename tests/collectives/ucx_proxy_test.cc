// Ranks of several hosts on devices: threads of this CPU instead of GPUs, and the real wire.
#include "collectives/executors/cuda/ucx_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/executors/local_ranks.h"
#include "collectives/wire/ucx_wire.h"
#include "tests/collectives/executor_cases.h"
#include "tests/collectives/placements.h"
#include "tests/collectives/thread_device.h"
#include "tests/gpu/device_ground.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::ExecutorCase;
using testing::Ground;

constexpr double kTimeoutSeconds = 60;

// A rank's wire, device and proxy; ranks of one color pretend to be on one host.
struct Place {
  std::shared_ptr<UcxWire> wire;
  std::shared_ptr<Session> local;
  Ground ground;
};

Place MakePlace(Session& session, int color, const DomainOptions& options, double timeout_seconds,
                ProxyPath path = ProxyPath::kStaged) {
  Place place;
  place.wire =
      std::make_shared<UcxWire>(session, std::vector<std::string>(session.ranks(), "here"));
  place.local = std::make_shared<Session>(session.Split(color, session.rank()));
  std::vector<bool> on_host;
  for (const int number : FindLocalNumbers(session, *place.local)) on_host.push_back(number >= 0);
  std::shared_ptr<Device> device = testing::MakeThreadDevice();
  auto proxy = std::make_shared<UcxProxy>(*device, on_host, options, *place.wire, path);
  place.ground =
      testing::MakeDeviceGround(session, {*place.local, std::move(proxy)}, std::move(device),
                                options, {.threads = 1, .timeout_seconds = timeout_seconds});
  return place;
}

DomainOptions SmallSlots(std::uint64_t first_count) {
  DomainOptions options;
  options.lanes = 16;
  options.limits.slot_bytes = 4096;
  options.limits.packet_slot_bytes = 1024;
  options.first_count = first_count;
  return options;
}

std::string RunCases(int ranks, int ranks_a_host, const std::vector<ExecutorCase>& cases,
                     const DomainOptions& limits = SmallSlots(0),
                     ProxyPath path = ProxyPath::kStaged) {
  const DomainOptions options = testing::WithRoomFor(cases, limits);
  std::string result;
  RunThreadRanks(ranks, kTimeoutSeconds, [&](Session& session) {
    const Place place =
        MakePlace(session, session.rank() / ranks_a_host, options, kTimeoutSeconds, path);
    for (const ExecutorCase& test : cases) {
      const std::string wrong = testing::RunCase(session, place.ground, test, 2);
      if (session.rank() == 0 && result.empty()) result = wrong;
    }
    session.Barrier();
  });
  return result;
}

// The rows that send messages instead of working in their peers' memory.
std::vector<ExecutorCase> MessageRows(int ranks) {
  std::vector<ExecutorCase> cases;
  for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
    for (const ExecutorCase& test : testing::EveryRow(ranks, protocol)) {
      if (protocol == Protocol::kLl || !test.row->simple_uses_peer_memory) cases.push_back(test);
    }
  }
  return cases;
}

TEST(UcxProxyTest, EveryRowBetweenHostsEqualsTheReference) {
  EXPECT_EQ(RunCases(2, 1, MessageRows(2)), "");
}

TEST(UcxProxyTest, ConnectionsWithinAndBetweenHostsMix) {
  EXPECT_EQ(RunCases(4, 2, MessageRows(4)), "");
}

TEST(UcxProxyTest, CountersPassTheirEnds) {
  EXPECT_EQ(RunCases(2, 1, MessageRows(2), SmallSlots((std::uint64_t{1} << 32) - 20)), "");
}

// The direct path, with memory of the host standing in for a device's.
TEST(UcxProxyTest, MessagesAreSentFromTheirSlotsAndReceivedThere) {
  EXPECT_EQ(RunCases(2, 1, MessageRows(2), SmallSlots(0), ProxyPath::kDirect), "");
  EXPECT_EQ(RunCases(4, 2, MessageRows(4), SmallSlots(0), ProxyPath::kDirect), "");
}

// Messages that a socket does not take at once: who wrote over one before it has left would send
// something else.
TEST(UcxProxyTest, SlotsAreKeptUntilTheirMessagesHaveLeft) {
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kBroadcast, "ring");
  test.counts = EvenCounts({Collective::kBroadcast, 2, 0}, 8 << 20);
  test.parameters.lanes = 4;
  DomainOptions options = SmallSlots(0);
  options.lanes = 4;
  options.limits.slot_bytes = 512 << 10;
  EXPECT_EQ(RunCases(2, 1, {test}, options, ProxyPath::kDirect), "");
}

TEST(UcxProxyTest, CountersOfTheDirectPathPassTheirEnds) {
  EXPECT_EQ(
      RunCases(2, 1, MessageRows(2), SmallSlots((std::uint64_t{1} << 32) - 20), ProxyPath::kDirect),
      "");
}

TEST(UcxProxyTest, HierarchicalRowsWorkInTheirHostsMemory) {
  const RankPlacement placement =
      testing::PlaceRanks(testing::Even(2, 2), testing::RankOrder::kBlock);
  std::vector<ExecutorCase> cases;
  for (const Collective collective : testing::HierarchicalCollectives()) {
    for (const Levels& levels : UsualLevels(collective, Protocol::kSimple, &placement)) {
      ExecutorCase test;
      test.row = FindAlgorithm(collective, kHierarchical);
      test.parameters.placement = &placement;
      test.parameters.levels = levels;
      test.counts = EvenCounts({collective, 4, 0}, 301);
      cases.push_back(test);
    }
  }
  EXPECT_EQ(RunCases(4, 2, cases), "");
}

TEST(UcxProxyTest, MemoryOfAnotherHostIsRefused) {
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "two_shot");
  test.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 16);
  EXPECT_THAT([&] { RunCases(2, 1, {test}); },
              ::testing::ThrowsMessage<std::invalid_argument>(
                  ::testing::HasSubstr("which is on another node")));
}

TEST(UcxProxyTest, ARankThatDoesNotComeEndsTheOthersWait) {
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "ring");
  test.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 16);
  const DomainOptions options = testing::WithRoomFor({test}, SmallSlots(0));
  RunThreadRanks(2, 30, [&](Session& session) {
    const Place place = MakePlace(session, session.rank(), options, 0.3);
    const testing::PlannedCase planned(test, place.ground.limits);
    const auto prepared = place.ground.prepare(planned.MakeCall(session.rank(), place.ground.arena),
                                               *test.row, planned.flow(), StorePolicy::kCached);
    if (session.rank() == 0) {
      EXPECT_THAT([&] { prepared->Run(); },
                  ::testing::ThrowsMessage<TimeoutError>(::testing::HasSubstr("on the device")));
    }
    session.Barrier();
  });
}

}  // namespace
}  // namespace hockney
