#include "collectives/executors/host/remote_links.h"

#include <gtest/gtest.h>

#include <functional>

#include "topology/session.h"

namespace hockney {
namespace {

constexpr int kLanes = 2;

// Runs `check` on rank 0's links to rank 1, which sends nothing.
void WithLinks(const std::function<void(RemoteLinks&, std::vector<Connection>&)>& check) {
  RunThreadRanks(2, 60, [&](Session& session) {
    UcxWire wire(session, {"a", "b"});
    std::vector<Connection> connections(kLanes * 2);
    std::vector<bool> on_host = {session.rank() == 0, session.rank() == 1};
    DomainOptions options;
    options.limits.slot_bytes = 256;
    RemoteLinks links(wire, connections, on_host, options);
    if (session.rank() == 0) check(links, connections);
    session.Barrier();
  });
}

WireHeader Data(std::uint64_t sequence, std::uint32_t bytes = 8, std::int32_t lane = 0) {
  return {.kind = WireKind::kData, .from = 1, .lane = lane, .bytes = bytes, .sequence = sequence};
}

TEST(RemoteLinksTest, WhatDoesNotFitASlotOrALaneIsRefused) {
  WithLinks([](RemoteLinks& links, std::vector<Connection>&) {
    EXPECT_NE(links.Place(Data(0, 256)), nullptr);
    EXPECT_EQ(links.Place(Data(1, 257)), nullptr);
    EXPECT_EQ(links.Place(Data(0, 8, -1)), nullptr);
    EXPECT_EQ(links.Place(Data(0, 8, kLanes)), nullptr);
  });
}

TEST(RemoteLinksTest, AMessageTwiceOrBeyondTheWindowIsRefused) {
  WithLinks([](RemoteLinks& links, std::vector<Connection>&) {
    EXPECT_NE(links.Place(Data(0)), nullptr);
    EXPECT_EQ(links.Place(Data(0)), nullptr);
    links.Arrived(Data(0));
    EXPECT_EQ(links.Place(Data(0)), nullptr);  // announced, not read
    EXPECT_EQ(links.Place(Data(links.slots())), nullptr);
    EXPECT_NE(links.Place(Data(links.slots() - 1)), nullptr);
    EXPECT_EQ(links.Place(Data(~std::uint64_t{0})), nullptr);
  });
}

TEST(RemoteLinksTest, MessagesAreAnnouncedInOrderHoweverTheyCome) {
  WithLinks([](RemoteLinks& links, std::vector<Connection>& connections) {
    const auto announced = [&] { return connections[1].here->slot_messages.value.load(); };
    ASSERT_NE(links.Place(Data(0)), nullptr);
    ASSERT_NE(links.Place(Data(1)), nullptr);
    links.Arrived(Data(1));
    EXPECT_EQ(announced(), 0U);
    links.Arrived(Data(0));
    EXPECT_EQ(announced(), 2U);
  });
}

TEST(RemoteLinksTest, CountsOnlyRiseAndNobodyReadsWhatWasNotSent) {
  WithLinks([](RemoteLinks& links, std::vector<Connection>& connections) {
    const ConnectionCounters& here = *connections[1].here;
    WireHeader counts{.kind = WireKind::kCounts, .from = 1, .lane = 0};
    counts.tokens = 3;
    counts.credits = 5;  // of messages that were never sent
    links.Arrived(counts);
    EXPECT_EQ(here.tokens.value.load(), 3U);
    EXPECT_EQ(here.slot_credits.value.load(), 0U);
    counts.tokens = 2;  // an older word
    links.Arrived(counts);
    EXPECT_EQ(here.tokens.value.load(), 3U);
  });
}

}  // namespace
}  // namespace hockney
