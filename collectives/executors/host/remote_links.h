#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "collectives/executors/connection.h"
#include "collectives/executors/segment_plan.h"
#include "collectives/flow.h"
#include "collectives/wire/ucx_wire.h"

namespace hockney {

class RemoteLinks;

// This rank's end of a connection with a rank of another host on one lane. It keeps the protocol of
// shared memory: numbered messages in slots, credits, tokens; each message carries the counts of
// its lane. Credits alone are only sent when half of the slots wait for one, so a connection has
// twice the slots that a program was proved with.
class RemoteEnd {
 public:
  // `memory` holds links.end_bytes() of this end's own; null: the connection has its slots already.
  RemoteEnd(RemoteLinks& links, int peer, int lane, Connection& connection, std::byte* memory);
  RemoteEnd(const RemoteEnd&) = delete;
  RemoteEnd& operator=(const RemoteEnd&) = delete;
  ~RemoteEnd() = default;

  std::size_t SlotOf(std::uint64_t message) const { return message & (sends_.size() - 1); }
  std::size_t MessageBytes(std::uint64_t message) const { return lengths_[SlotOf(message)]; }
  void SetMessageBytes(std::uint64_t message, std::size_t bytes) {
    sends_[SlotOf(message)].header.bytes = static_cast<std::uint32_t>(bytes);
  }
  // Whether a message that was sent has left its slot.
  bool HasLeft(std::uint64_t message) const { return !sends_[SlotOf(message)].in_flight; }
  // Whether the next message has a free slot: the peer has read what was there, and it has left.
  bool CreditReady();

  void GiveToken();  // counts and tells it
  void Sent();       // sends the next slot, whose bytes are set
  void Consumed();   // counts the message read

  // Sends counts that could not go while the last ones were on their way. Returns whether nothing
  // of this end is under way.
  bool Settle();

  // From the network, so nothing is believed.
  std::byte* Place(const WireHeader& header);
  void Arrived(const WireHeader& header);

 private:
  void FillCounts(WireHeader& header);
  void SendCounts();

  void Send(WireSend& send, std::span<const std::byte> data);

  ConnectionCounters counters_;  // first, for its alignment
  RemoteLinks& links_;
  Connection& connection_;
  int peer_;
  bool counts_wanted_ = false;
  bool noted_ = false;  // among the ends that have something under way
  std::uint64_t credits_told_ = 0;
  std::vector<WireSend> sends_;         // one a slot
  std::vector<std::uint32_t> lengths_;  // of the messages in the inbox
  std::vector<bool> placed_;            // data is coming
  std::vector<bool> arrived_;           // but not announced: an earlier one is still coming
  WireSend counts_;
};

// All ends of a rank. Takes the wire's messages as long as it lives.
class RemoteLinks : public WireReceiver {
 public:
  // connections[lane * ranks + peer] with on_host[peer] false become remote; all counters start at
  // options.first_count. `wire` and `connections` outlive it. `memory` says where messages lie: the
  // host's is the links' own; otherwise they lie where the connections have their inboxes and
  // outboxes already. Then a message stays in its slot until it has left or is read, so there are
  // no more slots than programs know of; all ranks must have it alike.
  RemoteLinks(UcxWire& wire, std::span<Connection> connections, const std::vector<bool>& on_host,
              const DomainOptions& options, UcxWire::Memory memory = UcxWire::Memory::kHost);
  RemoteLinks(const RemoteLinks&) = delete;
  RemoteLinks& operator=(const RemoteLinks&) = delete;
  ~RemoteLinks() override;

  UcxWire& wire() { return wire_; }
  const FlowLimits& limits() const { return limits_; }
  std::uint64_t first_count() const { return first_count_; }
  // Slots of an end in each direction, and the bytes of all.
  std::size_t slots() const {
    return (has_own_slots_ ? 2 : 1) * static_cast<std::size_t>(limits_.slots);
  }
  std::size_t end_bytes() const { return 2 * slots() * limits_.slot_bytes; }

  // Moves what can be moved.
  void Progress();
  // Whether nothing that was sent from here is under way any more, as far as Progress knows.
  bool idle() const { return busy_.empty(); }
  // `end` has something under way.
  void Note(RemoteEnd& end) { busy_.push_back(&end); }

  std::byte* Place(const WireHeader& header) override;
  void Arrived(const WireHeader& header) override;

 private:
  RemoteEnd* Find(const WireHeader& header) const;

  UcxWire& wire_;
  std::span<Connection> connections_;
  std::size_t ranks_;
  FlowLimits limits_;
  std::uint64_t first_count_;
  bool has_own_slots_;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;  // not touched before it is used
  std::vector<std::unique_ptr<RemoteEnd>> ends_;
  std::vector<RemoteEnd*> busy_;
};

}  // namespace hockney
