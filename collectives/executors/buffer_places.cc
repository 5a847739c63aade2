#include "collectives/executors/buffer_places.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "collectives/executors/in_place.h"

namespace hockney {
namespace {

BufferPlace FindPlace(const Call& call, const Layout& layout, int rank,
                      std::span<std::byte> arena) {
  BufferPlace place;
  const auto offset = [&](const std::byte* data, std::size_t bytes) -> std::size_t {
    if (bytes == 0) return 0;
    const bool inside = data >= arena.data() && data + bytes <= arena.data() + arena.size();
    place.in_arena = place.in_arena && inside;
    return inside ? static_cast<std::size_t>(data - arena.data()) : 0;
  };
  place.input = offset(call.input, layout.BufferBytes(rank, Buffer::kInput));
  place.output = offset(call.output, layout.BufferBytes(rank, Buffer::kOutput));
  return place;
}

}  // namespace

BufferPlaces TellPlaces(Session& session, const Call& call, const Layout& layout,
                        std::span<std::byte> arena) {
  const int rank = session.rank();
  struct Told {
    BufferPlace place;
    bool in_place = false;
  } told{FindPlace(call, layout, rank, arena), IsInPlace(call, layout, rank)};
  std::array<std::byte, sizeof(Told)> bytes{};
  std::memcpy(bytes.data(), &told, sizeof told);
  BufferPlaces places;
  for (const auto& from : session.AllGather(bytes)) {
    std::memcpy(&told, from.data(), sizeof told);
    places.in_place = places.in_place || told.in_place;
    places.of_rank.push_back(told.place);
  }
  return places;
}

void RequireReachable(std::string_view name, const BufferPlaces& places, const RankPlacement* nodes,
                      int rank, int peer) {
  if (nodes != nullptr && nodes->node_of_rank[peer] != nodes->node_of_rank[rank]) {
    throw std::invalid_argument(std::string(name) + " reaches the memory of rank " +
                                std::to_string(peer) + ", which is on another node");
  }
  if (!places.of_rank.at(peer).in_arena) {
    throw std::invalid_argument(std::string(name) + " reaches peers' memory: rank " +
                                std::to_string(peer) + "'s buffers must lie in its arena");
  }
}

}  // namespace hockney
