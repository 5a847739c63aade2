#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "collectives/memory/fd_exchange.h"

namespace hockney {

// A mapping of shared memory that begins on a 2 MiB boundary; unmapped in the end.
class SharedMapping {
 public:
  // Maps `bytes` of the memfd `file` for reading and writing, in huge pages where the system allows
  // it. Throws EnvironmentError if there is no room for it, BackendError for other failures.
  SharedMapping(const FileDescriptor& file, std::size_t bytes);
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  std::span<std::byte> bytes() const { return {begin_, bytes_}; }

 private:
  std::byte* reserved_ = nullptr;  // address range with room to align within
  std::size_t reserved_bytes_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

// Returns the file bytes that hold `bytes`: whole pages, whole huge pages from one of those on.
// Throws std::invalid_argument if that overflows.
std::size_t SegmentBytes(std::size_t bytes);

// A rank's own memory: `file` for the others, `mapping` for itself. All pages exist and stay:
// neither a full machine nor a rank that shortens the file can raise SIGBUS later.
struct OwnSegment {
  FileDescriptor file;
  std::shared_ptr<const SharedMapping> mapping;
};

// Makes a zeroed segment of SegmentBytes(bytes), first touched by the calling thread. Throws
// EnvironmentError naming the bytes and the limit if they cannot be had.
OwnSegment MakeSegment(std::size_t bytes);

// Returns the KiB of the pages behind most of the mapping that begins at `address`, as this process
// maps them. Throws BackendError if Linux does not say.
double MeasurePageKib(const std::byte* address);

}  // namespace hockney
