#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "collectives/memory/host_memory.h"
#include "topology/session.h"

namespace hockney::testing {

// Memory that all rank threads of a test see.
class ThreadArena {
 public:
  ThreadArena(Session& session, std::size_t bytes) : memory_(HostMemory::Create(session, bytes)) {}
  std::span<std::byte> Room(int rank) const { return memory_->Segment(rank); }

 private:
  std::shared_ptr<HostMemory> memory_;
};

}  // namespace hockney::testing
