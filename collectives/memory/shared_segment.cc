#include "collectives/memory/shared_segment.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include "topology/check.h"
#include "topology/machine.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t RoundUp(std::size_t bytes, std::size_t unit) {
  const std::size_t rest = bytes % unit;
  if (rest == 0) return bytes;
  if (bytes > std::numeric_limits<std::size_t>::max() - unit) {
    throw std::invalid_argument(fmt::format("a segment of {} bytes", bytes));
  }
  return bytes + unit - rest;
}

[[noreturn]] void ThrowNoRoom(const char* call, std::size_t bytes) {
  const std::string reason = strerrordesc_np(errno);
  const MemoryLimit available = AvailableMemory();
  rlimit addresses{};
  const bool limited = getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
  throw EnvironmentError(fmt::format(
      "{} bytes of shared memory needed, {} available ({}{}): {}: {}", bytes,
      available.bytes ? fmt::format("{} bytes", *available.bytes) : "an unknown number of bytes",
      available.source,
      limited ? fmt::format("; {} bytes of addresses a process, ulimit -v", addresses.rlim_cur)
              : "",
      call, reason));
}

// A limit on file length would end this process with SIGXFSZ instead of an error.
void RequireFileLimit(std::size_t bytes) {
  rlimit limit{};
  HOCKNEY_CHECK(getrlimit(RLIMIT_FSIZE, &limit));
  if (limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) {
    throw EnvironmentError(
        fmt::format("{} bytes of shared memory needed, {} bytes available (file length, ulimit -f)",
                    bytes, limit.rlim_cur));
  }
}

// Makes every page exist and touches it first, from this thread. Through the mapping before through
// the file, because only a mapping can carry the advice to use huge pages.
void Populate(const FileDescriptor& file, std::span<std::byte> bytes) {
  const bool touched = madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE) == 0;
  if (!touched && errno != EINVAL) ThrowNoRoom("madvise", bytes.size());
  int status = -1;
  do {
    status = fallocate(file.get(), 0, 0, static_cast<off_t>(bytes.size()));
  } while (status == -1 && errno == EINTR);
  if (status == -1) ThrowNoRoom("fallocate", bytes.size());
  if (touched) return;
  for (std::size_t at = 0; at < bytes.size(); at += 4096) {  // Linux before 5.14
    bytes[at] = std::byte{0};
  }
}

}  // namespace

SharedMapping::SharedMapping(const FileDescriptor& file, std::size_t bytes) : bytes_(bytes) {
  // Asks for addresses with 2 MiB to spare and puts the file on the boundary inside.
  const std::size_t reserved_bytes = RoundUp(bytes, kHugePage) + kHugePage;
  void* reserved =
      mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) ThrowNoRoom("mmap", bytes);
  reserved_ = static_cast<std::byte*>(reserved);
  reserved_bytes_ = reserved_bytes;
  begin_ = reserved_ + (kHugePage - reinterpret_cast<std::uintptr_t>(reserved_) % kHugePage);
  if (mmap(begin_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) ==
      MAP_FAILED) {
    const int error = errno;
    munmap(reserved_, reserved_bytes_);  // the destructor does not run after a throw from here
    errno = error;
    ThrowNoRoom("mmap", bytes);
  }
  // May be refused (kernels without huge pages): the page size is measured, not assumed.
  static_cast<void>(madvise(begin_, bytes, MADV_HUGEPAGE));
}

SharedMapping::~SharedMapping() { munmap(reserved_, reserved_bytes_); }

std::size_t SegmentBytes(std::size_t bytes) {
  const std::size_t page = sysconf(_SC_PAGESIZE);
  const std::size_t unit = bytes >= kHugePage ? kHugePage : page;
  return bytes == 0 ? page : RoundUp(bytes, unit);
}

OwnSegment MakeSegment(std::size_t bytes) {
  const std::size_t file_bytes = SegmentBytes(bytes);
  RequireFileLimit(file_bytes);
  const int fd = memfd_create("hockney", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  HOCKNEY_CHECK(fd);
  OwnSegment segment{.file = FileDescriptor(fd), .mapping = nullptr};
  if (ftruncate(fd, static_cast<off_t>(file_bytes)) == -1) ThrowNoRoom("ftruncate", file_bytes);
  HOCKNEY_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  segment.mapping = std::make_shared<const SharedMapping>(segment.file, file_bytes);
  Populate(segment.file, segment.mapping->bytes());
  return segment;
}

double MeasurePageKib(const std::byte* address) {
  std::ifstream smaps("/proc/self/smaps");
  const std::string head = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(address));
  std::string line;
  while (std::getline(smaps, line) && !line.starts_with(head)) {
  }
  std::string facts;
  while (std::getline(smaps, line) && !line.starts_with("VmFlags")) facts += line + '\n';
  const auto kib = [&](const char* key) -> std::uint64_t {
    return ParseUint(FindValue(facts, key).value_or("")).value_or(0);
  };
  if (kib("KernelPageSize") == 0) throw BackendError("/proc/self/smaps lacks a mapping just made");
  const std::uint64_t huge = kib("ShmemPmdMapped") + kib("FilePmdMapped");
  if (2 * huge < kib("Rss") || huge == 0) return static_cast<double>(kib("KernelPageSize"));
  const auto huge_bytes =
      ParseUint(ReadText("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").value_or(""));
  return static_cast<double>(huge_bytes.value_or(kHugePage)) / 1024;
}

}  // namespace hockney
