#include "collectives/executors/segment_plan.h"

#include <bit>
#include <new>
#include <stdexcept>

namespace hockney {
namespace {

constexpr std::size_t kArenaAlignment = 2 * 1024 * 1024;

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

SegmentPlan::SegmentPlan(int lanes, int ranks, const FlowLimits& limits)
    : lanes_(lanes), ranks_(ranks), limits_(limits) {
  if (lanes < 1 || limits.slots < 2 || limits.slots > kMaxSlots ||
      !std::has_single_bit(static_cast<unsigned>(limits.slots))) {
    throw std::invalid_argument("shared memory: expected lanes >= 1 and 2, 4 or 8 slots");
  }
}

SegmentPlan::Place SegmentPlan::FindPlace(int lane, int peer) const {
  const std::size_t pairs = static_cast<std::size_t>(lanes_) * ranks_;
  const std::size_t index = static_cast<std::size_t>(lane) * ranks_ + peer;
  const std::size_t counters = kBoardBytes + pairs * sizeof(ConnectionCounters);
  const std::size_t slot_area = limits_.slots * limits_.slot_bytes;
  const std::size_t packet_area =
      RoundUp(limits_.slots * PacketWords() * sizeof(std::uint64_t), 128);
  return {.counters = kBoardBytes + index * sizeof(ConnectionCounters),
          .slots = counters + index * slot_area,
          .packets = counters + pairs * slot_area + index * packet_area};
}

std::size_t SegmentPlan::ControlBytes() const {
  return RoundUp(FindPlace(lanes_, 0).packets, kArenaAlignment);
}

Connection SegmentPlan::Join(int lane, const End& mine, const End& theirs,
                             std::uint64_t first_count) const {
  const Place here = FindPlace(lane, theirs.rank);
  const Place there = FindPlace(lane, mine.rank);
  Connection connection;
  connection.here = reinterpret_cast<ConnectionCounters*>(mine.segment + here.counters);
  connection.there = reinterpret_cast<ConnectionCounters*>(theirs.segment + there.counters);
  connection.inbox = mine.segment + here.slots;
  connection.outbox = theirs.segment + there.slots;
  connection.packet_inbox =
      reinterpret_cast<std::atomic<std::uint64_t>*>(mine.segment + here.packets);
  connection.packet_outbox =
      reinterpret_cast<std::atomic<std::uint64_t>*>(theirs.segment + there.packets);
  const Connection::Counts start = {first_count, first_count, first_count, first_count};
  connection.slots = connection.packets = connection.tokens = start;
  return connection;
}

void SegmentPlan::MakeCounters(std::byte* segment, std::uint64_t first_count) const {
  for (int lane = 0; lane < lanes_; ++lane) {
    for (int peer = 0; peer < ranks_; ++peer) {
      StartCounters(*new (segment + FindPlace(lane, peer).counters) ConnectionCounters,
                    first_count);
    }
  }
}

}  // namespace hockney
