#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/executors/connection_protocol.h"
#include "collectives/executors/host/host_domain.h"
#include "collectives/interpreter.h"
#include "collectives/kernels/kernels.h"
#include "collectives/layout.h"

namespace hockney {

// One prepared call as the host machine sees it: addresses, kernels and room to work in. Everything
// is made by Prepare.
struct HostCall {
  const Layout* layout = nullptr;
  std::vector<std::byte*> inputs;  // by rank; null where the collective has none
  std::vector<std::byte*> outputs;
  std::byte* scratch = nullptr;
  std::vector<RankGroup> groups;  // by lane
  std::size_t slice_bytes = 0;
  std::size_t element_bytes = 1;
  Kernel memory_kernel = nullptr;  // writes users' buffers, by the call's store policy
  Kernel slot_kernel = nullptr;    // writes connections and scratch: always cached stores
  bool scales = false;             // average of floats: operands from inputs are scaled
  // Working room, reserved for every operand a step can have.
  std::vector<std::byte> scratch_room;
  std::vector<const std::byte*> sources;
  std::vector<std::uint8_t> scaled;
  std::vector<std::byte*> targets;
  std::vector<std::byte> unpacked;          // one packet slot's data for each (lane, peer)
  std::vector<std::size_t> unpacked_bytes;  // of the message there, or all ones
  std::vector<std::byte> staged;            // one packet slot's data on its way out
};

// A Machine of the interpreter on shared memory: counters with release stores and acquire loads,
// SIMD passes over data.
class HostMachine {
 public:
  HostMachine(HostDomain& domain, HostCall& call, std::vector<std::uint64_t>& lane_tokens)
      : domain_(domain), call_(call), lane_tokens_(lane_tokens) {}

  int rank() const { return domain_.rank(); }
  int ranks() const { return domain_.ranks(); }
  RankGroup group(int lane) const { return call_.groups[lane]; }

  bool TokenReady(int lane, TokenEnd source) {
    if (source.kind == EventKind::kLane) return lane_tokens_[LanePair(source.index, lane)] > 0;
    return Ends::TokenReady(domain_.At(lane, source.index));
  }
  void TakeToken(int lane, TokenEnd source) {
    if (source.kind == EventKind::kLane) {
      --lane_tokens_[LanePair(source.index, lane)];
    } else {
      Ends::TakeToken(domain_.At(lane, source.index));
    }
  }
  void GiveToken(int lane, TokenEnd target) {
    if (target.kind == EventKind::kLane) {
      ++lane_tokens_[LanePair(lane, target.index)];
    } else {
      Connection& c = domain_.At(lane, target.index);
      if (c.remote != nullptr) return c.remote->GiveToken();
      Ends::GiveToken(c);
    }
  }
  bool MessageReady(int lane, int peer, Buffer buffer) {
    Connection& c = domain_.At(lane, peer);
    return UsesPackets(c, buffer) ? Unpack(lane, peer, c) : Ends::MessageReady(c);
  }
  bool CreditReady(int lane, int peer, Buffer buffer) {
    Connection& c = domain_.At(lane, peer);
    if (c.remote != nullptr) return c.remote->CreditReady();
    return Ends::CreditReady(c, buffer == Buffer::kPackets,
                             static_cast<std::uint64_t>(domain_.options().limits.slots));
  }
  void Move(int lane, const Step& step, const LoopCounters& at, int slice);
  void Consumed(int lane, int peer, Buffer buffer);
  void Sent(int lane, int peer, Buffer buffer);

 private:
  using Ends = ConnectionProtocol<HostAccess>;
  // The sources and targets of one chunk of a step, in the call's working room.
  struct Gathered {
    std::size_t bytes = kUnknown;
    bool to_slots = false;    // some target is a connection or scratch
    bool to_packets = false;  // data goes to `staged` first
  };
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

  std::size_t LanePair(int from, int to) const {
    return static_cast<std::size_t>(from) * domain_.options().lanes + to;
  }
  static bool UsesPackets(const Connection& c, Buffer buffer) {
    return buffer == Buffer::kPackets && c.remote == nullptr;
  }
  std::size_t SlotOf(const Connection& c, std::uint64_t message) const {
    if (c.remote != nullptr) return c.remote->SlotOf(message);
    return message & static_cast<std::uint64_t>(domain_.options().limits.slots - 1);
  }
  std::byte* UnpackedAt(int lane, int peer) {
    return call_.unpacked.data() + (static_cast<std::size_t>(lane) * ranks() + peer) *
                                       domain_.options().limits.packet_slot_bytes;
  }
  bool Unpack(int lane, int peer, Connection& c);
  void Pack(Connection& c, const std::byte* data, std::size_t bytes);
  std::byte* Slice(int owner, Buffer buffer, int chunk, int slice, std::size_t& bytes) const;
  void AddSource(int lane, int peer, const Operand& source, std::size_t offset, Gathered& gathered);
  void AddTarget(int lane, int peer, const Operand& target, std::size_t offset, Gathered& gathered);
  void Announce(int lane, const Step& step, const LoopCounters& at, std::size_t bytes);
  void RunKernel(const Gathered& gathered, bool divide);

  HostDomain& domain_;
  HostCall& call_;
  std::vector<std::uint64_t>& lane_tokens_;
};

}  // namespace hockney
