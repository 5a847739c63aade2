#include "topology/file_descriptor.h"

#include <unistd.h>

#include <utility>

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

}  // namespace hockney
