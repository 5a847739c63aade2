#pragma once

#include <vector>

namespace hockney {

class Session;

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

// Returns, in rank order, a descriptor of the file that each other rank passed as `mine`; the
// caller's own place is empty. Goes over Unix sockets in the abstract name space, under random
// names that only the session knows, and only between processes of one user. Collective over
// `session`, whose ranks are processes of one host and one network name space. Throws TimeoutError
// if a rank is gone or does not answer within the session's timeout, BackendError if the system
// refuses.
std::vector<FileDescriptor> ExchangeFileDescriptors(Session& session, const FileDescriptor& mine);

}  // namespace hockney
