#include "topology/file_descriptor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "topology/check.h"
#include "topology/concat.h"

namespace hockney {

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  FileDescriptor taken(std::move(other));
  std::swap(fd_, taken.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (valid()) close(fd_);
}

void RequireOpenFiles(std::uint64_t more) {
  constexpr std::uint64_t kSpare = 8;  // for what is opened and closed on the way
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const FileDescriptor next(dup(STDERR_FILENO));  // the lowest free number: how many are open
  const std::uint64_t open = next.valid() ? next.get() : limit.rlim_cur;
  const std::uint64_t needed = open + more + kSpare;
  if (needed <= limit.rlim_cur) return;
  throw EnvironmentError(Concat(
      needed, " open files needed by a process, ", limit.rlim_cur,
      " allowed inside this job (ulimit -n): raise the limit where the launcher starts the ranks"));
}

}  // namespace hockney
