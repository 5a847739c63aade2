#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hockney {

class Session;

enum class WireKind : std::uint32_t { kHello, kData, kCounts };

// What goes before the data of every message between ranks of different hosts. Counts are totals
// since the start, so a message may overtake another or be left out when a later one follows.
struct WireHeader {
  std::uint64_t nonce = 0;  // of the run; the wire writes it
  WireKind kind = WireKind::kHello;
  std::int32_t from = 0;  // rank
  std::int32_t lane = 0;
  std::uint32_t bytes = 0;     // of data behind the header
  std::uint64_t sequence = 0;  // of data on this lane, from the domain's first count
  std::uint64_t tokens = 0;    // given to the receiver on this lane
  std::uint64_t credits = 0;   // messages of the receiver on this lane that have been read
};

// A message on its way. Its header and data stay as they are until it is done.
struct WireSend {
  WireHeader header{};
  bool in_flight = false;
  void* wire = nullptr;  // the wire's own, as is the peer
  int peer = 0;
};

// Who takes messages. Calls come from inside UcxWire::Progress, by its thread.
class WireReceiver {
 public:
  WireReceiver() = default;
  WireReceiver(const WireReceiver&) = delete;
  WireReceiver& operator=(const WireReceiver&) = delete;
  virtual ~WireReceiver() = default;
  // Returns where the `header.bytes` bytes of a data message go, which stays valid until Arrived;
  // null refuses the message. `header` is from the network: nothing in it but the nonce is checked.
  virtual std::byte* Place(const WireHeader& header) = 0;
  // The data is there (kData), or there is none (kCounts).
  virtual void Arrived(const WireHeader& header) = 0;
};

// Two-sided messages between the ranks of different hosts, as UCX active messages: small ones
// eager, large ones by rendezvous, any number in flight. No thread of its own: whoever waits calls
// Progress. One a rank, used by the rank's thread. UCX_* variables mean what they mean to UCX; its
// shared memory is off, because ranks of one host have ours.
class UcxWire {
 public:
  // Collective over `session`. `hosts` names each rank's host, for messages; `interfaces` are those
  // to use, comma separated, unless UCX_NET_DEVICES says which (all if none is). Throws on all
  // ranks alike EnvironmentError if UCX has no transport here (UCX_TLS, UCX_NET_DEVICES), and
  // TimeoutError.
  UcxWire(Session& session, std::vector<std::string> hosts, const std::string& interfaces = "");
  // The same for other ranks that need messages of their own, `session`'s: both wires move whenever
  // one of them makes progress. `beside` may end first.
  UcxWire(Session& session, std::vector<std::string> hosts, const UcxWire& beside);
  UcxWire(const UcxWire&) = delete;
  UcxWire& operator=(const UcxWire&) = delete;
  ~UcxWire();

  // Connects to `peers`, who connect to this rank at the same time; those that are connected
  // already cost nothing. Throws TimeoutError naming the peers that do not answer within
  // `timeout_seconds`, their hosts and the interface used.
  void Connect(std::span<const int> peers, double timeout_seconds);

  // Where the data of messages lies: in memory of the host; in memory that only UCX may touch,
  // which it finds out about; or in memory of a GPU.
  enum class Memory { kHost, kByUcx, kGpu };
  // All messages go to `receiver` (null: to nobody) from now on.
  void SetReceiver(WireReceiver* receiver, Memory memory = Memory::kHost);

  // UCX's, of the library that runs: major * 100 + minor, 113 for 1.13.
  static int Version();
  // Whether UCX was built for memory of GPUs and finds some here.
  bool KnowsGpuMemory() const;
  // Makes memory known to the network cards while the result lives. Throws BackendError if UCX
  // refuses.
  std::shared_ptr<void> Register(std::span<std::byte> memory, Memory kind);

  // Starts to send send.header and `data` to a connected peer. `send` is not in flight and outlives
  // its flight.
  void Send(int peer, WireSend& send, std::span<const std::byte> data);

  // Moves what can be moved, now and without waiting.
  void Progress();

  // Why a connected peer cannot be reached any more, in one line; empty while all can.
  const std::string& failure() const;

  // The peers that Connect has reached, ascending.
  std::vector<int> connected() const;

  // How a connected peer is reached, as UCX says: "ucx:tcp", "ucx:rc_mlx5", or "ucx:unknown"; and
  // over which device, "eth0", or "".
  std::string Transport(int peer) const;
  std::string Device(int peer) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hockney
