#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/executors/cuda/device.h"
#include "topology/session.h"

namespace hockney {

// The memory that each rank of a session gives to the others, on its device.
struct SharedSegments {
  std::vector<std::byte*> begins = {};  // by rank, as this rank's device reaches them
  std::vector<std::shared_ptr<DeviceBuffer>> buffers = {};  // own and opened ones
};

// Makes this rank's segment of `bytes` and opens the others'. Collective over `session`, whose
// ranks are of one host; `kind` matters between processes only. Throws on all ranks alike what a
// device throws that refuses, and TimeoutError.
SharedSegments ShareSegments(Session& session, Device& device, std::size_t bytes,
                             PeerMemoryKind kind);

}  // namespace hockney
