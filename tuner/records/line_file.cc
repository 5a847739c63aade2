#include "tuner/records/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "topology/check.h"

namespace hockney {
namespace {

constexpr mode_t kMode = 0666;  // less the umask

std::string Cause(const std::string& path, const char* what, int error) {
  return path + ": " + what + ": " + std::generic_category().message(error);
}

// Writes all bytes and returns 0, or errno of the write that failed.
int WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

LineFile::LineFile(std::string path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode)) {
  if (descriptor_ < 0) Fail("cannot be opened");
  try {
    CutUnfinishedLine();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void LineFile::Append(std::string_view lines) {
  if (!lines.ends_with('\n')) throw std::invalid_argument(path_ + ": lines must end with \\n");
  const int error = WriteAll(descriptor_, lines);
  if (error != 0) {
    CutTo(bytes_);  // where that fails (a device), readers drop the line without end
    errno = error;
    Fail("cannot be written");
  }
  bytes_ += static_cast<long long>(lines.size());
}

void LineFile::TakeBack(std::size_t bytes) noexcept {
  const long long rest = bytes_ - static_cast<long long>(bytes);
  if (CutTo(rest)) bytes_ = rest;
}

bool LineFile::CutTo(long long bytes) noexcept {
  return ftruncate(descriptor_, bytes) == 0 && lseek(descriptor_, bytes, SEEK_SET) == bytes;
}

void LineFile::Fail(const char* what) const { throw EnvironmentError(Cause(path_, what, errno)); }

void LineFile::CutUnfinishedLine() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) Fail("cannot be examined");
  bytes_ = status.st_size;
  std::array<char, 4096> block{};
  while (bytes_ > 0) {
    const long long begin = bytes_ > static_cast<long long>(block.size())
                                ? bytes_ - static_cast<long long>(block.size())
                                : 0;
    const ssize_t got =
        pread(descriptor_, block.data(), static_cast<std::size_t>(bytes_ - begin), begin);
    if (got != bytes_ - begin) Fail("cannot be read");
    const std::size_t last =
        std::string_view(block.data(), static_cast<std::size_t>(got)).rfind('\n');
    bytes_ = last == std::string_view::npos ? begin : begin + static_cast<long long>(last) + 1;
    if (last != std::string_view::npos) break;
  }
  if (bytes_ < status.st_size && ftruncate(descriptor_, bytes_) != 0) Fail("cannot be cut");
  if (lseek(descriptor_, bytes_, SEEK_SET) < 0) Fail("cannot be positioned");
}

void ReplaceFile(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".part";
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor < 0) throw EnvironmentError(Cause(path, "cannot be written", errno));
  int error = WriteAll(descriptor, text);
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    throw EnvironmentError(Cause(path, "cannot be written", error));
  }
}

}  // namespace hockney
