#pragma once

#include <cstdint>

namespace hockney {

// Owns a file descriptor; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Throws EnvironmentError naming both numbers unless this process may open `more` files. For before
// a number of files is opened: running out in the middle leaves some ranks with theirs and others
// waiting.
void RequireOpenFiles(std::uint64_t more);

}  // namespace hockney
