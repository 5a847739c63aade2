#pragma once

#include <span>
#include <string>

#include "collectives/executors/connection.h"

namespace hockney {

// Carries messages and tokens between a rank's blocks and the ranks of other hosts. The blocks see
// such a peer like any other, whose counters and slots are memory of this host; whoever waits for
// the blocks calls Progress. One thread uses it.
class RemoteProxy {
 public:
  RemoteProxy() = default;
  RemoteProxy(const RemoteProxy&) = delete;
  RemoteProxy& operator=(const RemoteProxy&) = delete;
  virtual ~RemoteProxy() = default;

  // The end that this rank's blocks have of the connection with `peer`, of another host.
  virtual Connection DeviceEnd(int lane, int peer) const = 0;
  // Connects to `peers`, who connect to this rank at the same time. Throws TimeoutError.
  virtual void Connect(std::span<const int> peers, double timeout_seconds) = 0;
  // Moves what can be moved: what the blocks have sent, and what has come for them.
  virtual void Progress() = 0;
  // Whether nothing that the blocks have sent is still on its way from here. After they ended.
  virtual bool idle() const = 0;
  // Why a connected peer cannot be reached any more, in one line; empty while all can.
  virtual const std::string& failure() const = 0;
};

}  // namespace hockney
