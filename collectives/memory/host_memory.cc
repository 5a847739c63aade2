#include "collectives/memory/host_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "collectives/memory/fd_exchange.h"
#include "collectives/memory/shared_segment.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/file_descriptor.h"
#include "topology/machine.h"
#include "topology/session.h"

namespace hockney {
namespace {

template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> AllGatherValue(Session& session,
                                                                       const T& mine) {
  std::vector<T> result;
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(&mine, 1)))) {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    result.push_back(value);
  }
  return result;
}

// Returns the bytes of every rank's segment. All ranks look before any takes memory, and all judge
// by the same numbers.
std::vector<std::size_t> PlanSegments(Session& session, std::size_t bytes) {
  const MemoryLimit limit = AvailableMemory();
  struct Need {
    std::uint64_t segment_bytes;
    std::uint64_t available_bytes;
  };
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  const auto needs = AllGatherValue(session, Need{bytes, limit.bytes.value_or(kUnknown)});

  std::vector<std::size_t> result;
  double total = 0;  // does not overflow; exact below 8 PiB
  std::uint64_t available = kUnknown;
  for (const Need& need : needs) {
    total += static_cast<double>(need.segment_bytes);
    available = std::min(available, need.available_bytes);
    result.push_back(need.segment_bytes);
  }
  if (total > static_cast<double>(available)) {
    throw Agreed<EnvironmentError>(
        fmt::format("{:.0f} bytes of shared memory needed by {} ranks, {} bytes available ({})",
                    total, session.ranks(), available, limit.source));
  }
  return result;
}

// Returns every rank's mapping, in rank order.
std::vector<std::shared_ptr<const SharedMapping>> MapAll(Session& session, OwnSegment own,
                                                         const std::vector<std::size_t>& bytes) {
  std::vector<std::shared_ptr<const SharedMapping>> mappings;
  if (session.kind() == RankKind::kThreads) {
    for (auto& shared : session.AllGatherShared(std::move(own.mapping))) {
      mappings.push_back(std::static_pointer_cast<const SharedMapping>(std::move(shared)));
    }
    return mappings;
  }
  const auto files = ExchangeFileDescriptors(session, own.file);
  RunOnAllOrThrow(session, [&] {
    for (int rank = 0; rank < session.ranks(); ++rank) {
      mappings.push_back(rank == session.rank() ? own.mapping
                                                : std::make_shared<const SharedMapping>(
                                                      files[rank], SegmentBytes(bytes[rank])));
    }
  });
  return mappings;
}

}  // namespace

std::shared_ptr<HostMemory> HostMemory::Create(Session& session, std::size_t bytes) {
  const std::vector<std::size_t> all_bytes = PlanSegments(session, bytes);
  OwnSegment own;
  double page_kib = 0;
  RunOnAllOrThrow(session, [&] {
    // Threads hold all ranks' files in one process; processes get the others' over links.
    const auto ranks = static_cast<std::uint64_t>(session.ranks());
    RequireOpenFiles(session.kind() == RankKind::kThreads ? ranks : 2 * ranks);
  });
  RunOnAllOrThrow(session, [&] {
    own = MakeSegment(bytes);
    page_kib = MeasurePageKib(own.mapping->bytes().data());
  });

  HostMemory memory;
  memory.mappings_ = MapAll(session, std::move(own), all_bytes);
  memory.page_kib_ = AllGatherValue(session, page_kib);
  for (int rank = 0; rank < session.ranks(); ++rank) {
    memory.segments_.push_back(memory.mappings_[rank]->bytes().first(all_bytes[rank]));
  }
  return std::make_shared<HostMemory>(std::move(memory));
}

}  // namespace hockney
