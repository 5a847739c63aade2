#pragma once

#include <vector>

#include "bench/clock/clock_link.h"
#include "topology/file_descriptor.h"
#include "topology/peer_links.h"

namespace hockney {

// A ClockLink over connected, non-blocking stream sockets.
class SocketClockLink : public ClockLink {
 public:
  // links[r] = socket to rank r, none where no messages go. A wait takes `timeout_seconds` at most.
  SocketClockLink(int rank, std::vector<FileDescriptor> links, double timeout_seconds);

  void Send(int peer, std::span<const std::byte> bytes) override;
  void Receive(int peer, std::span<std::byte> bytes) override;

 private:
  const FileDescriptor& LinkTo(int peer) const;
  void Require(LinkResult result, int peer) const;

  int rank_;
  std::vector<FileDescriptor> links_;
  double timeout_seconds_;
};

}  // namespace hockney
