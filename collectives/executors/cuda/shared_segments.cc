#include "collectives/executors/cuda/shared_segments.h"

#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "collectives/memory/fd_exchange.h"
#include "topology/agree.h"

namespace hockney {
namespace {

// The parts of a handle that are bytes, as they go to other ranks.
struct HandleHead {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

std::vector<std::byte> ToBytes(const PeerHandle& handle) {
  const HandleHead head{handle.offset, handle.bytes};
  std::vector<std::byte> bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.insert(bytes.end(), handle.handle.begin(), handle.handle.end());
  return bytes;
}

PeerHandle FromBytes(std::span<const std::byte> bytes) {
  HandleHead head;
  if (bytes.size() < sizeof head) throw std::logic_error("a handle of memory that is cut off");
  std::memcpy(&head, bytes.data(), sizeof head);
  PeerHandle handle{.handle = {}, .file = {}, .offset = head.offset, .bytes = head.bytes};
  handle.handle.assign(bytes.begin() + sizeof head, bytes.end());
  return handle;
}

// The others' memory between processes; empty at this rank's own place.
std::vector<std::shared_ptr<DeviceBuffer>> OpenAll(Session& session, Device& device,
                                                   PeerHandle mine, PeerMemoryKind kind) {
  std::vector<FileDescriptor> files(session.ranks());
  if (kind == PeerMemoryKind::kFileDescriptor) files = ExchangeFileDescriptors(session, mine.file);
  const auto told = session.AllGather(ToBytes(mine));
  std::vector<std::shared_ptr<DeviceBuffer>> opened(session.ranks());
  RunOnAllOrThrow(session, [&] {
    for (int rank = 0; rank < session.ranks(); ++rank) {
      if (rank == session.rank()) continue;
      PeerHandle handle = FromBytes(told[rank]);
      handle.file = std::move(files[rank]);
      opened[rank] = device.Open(handle, kind);
    }
  });
  return opened;
}

// The same between threads.
std::vector<std::shared_ptr<DeviceBuffer>> ReachAll(Session& session, Device& device,
                                                    const std::shared_ptr<DeviceBuffer>& mine) {
  std::vector<std::shared_ptr<DeviceBuffer>> reached;
  reached.reserve(session.ranks());
  for (const auto& shared : session.AllGatherShared(mine)) {
    reached.push_back(std::const_pointer_cast<DeviceBuffer>(
        std::static_pointer_cast<const DeviceBuffer>(shared)));
  }
  RunOnAllOrThrow(session, [&] {
    for (int rank = 0; rank < session.ranks(); ++rank) {
      if (rank != session.rank()) device.ReachMemoryOf(*reached[rank]);
    }
  });
  return reached;
}

}  // namespace

SharedSegments ShareSegments(Session& session, Device& device, std::size_t bytes,
                             PeerMemoryKind kind) {
  std::shared_ptr<DeviceBuffer> mine;
  PeerHandle handle;
  const bool processes = session.kind() == RankKind::kProcesses;
  RunOnAllOrThrow(session, [&] {
    mine = device.Allocate(bytes, kind);
    if (processes && session.ranks() > 1) handle = device.Export(*mine);
  });
  SharedSegments segments;
  if (processes) {
    if (session.ranks() > 1) segments.buffers = OpenAll(session, device, std::move(handle), kind);
    segments.buffers.resize(session.ranks());
    segments.buffers[session.rank()] = mine;
  } else {
    segments.buffers = ReachAll(session, device, mine);
  }
  segments.begins.reserve(segments.buffers.size());
  for (const auto& buffer : segments.buffers) segments.begins.push_back(buffer->data());
  return segments;
}

}  // namespace hockney
