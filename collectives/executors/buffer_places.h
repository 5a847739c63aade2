#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/executors/executor.h"
#include "collectives/layout.h"
#include "topology/session.h"

namespace hockney {

// Where a rank's buffers lie in its arena.
struct BufferPlace {
  std::size_t input = 0;
  std::size_t output = 0;
  bool in_arena = true;
};

// What ranks that prepare a call tell each other.
struct BufferPlaces {
  std::vector<BufferPlace> of_rank = {};
  // In place somewhere means in place everywhere: one_shot then has another program.
  bool in_place = false;
};

// Collective over `session`; `arena` is this rank's. Throws as IsInPlace does.
BufferPlaces TellPlaces(Session& session, const Call& call, const Layout& layout,
                        std::span<std::byte> arena);

// Throws std::invalid_argument if rank `rank` cannot work in the buffers of `peer`, because these
// are not in its arena or it is on another node (`nodes` may be null). `name` is the program's.
void RequireReachable(std::string_view name, const BufferPlaces& places, const RankPlacement* nodes,
                      int rank, int peer);

}  // namespace hockney
