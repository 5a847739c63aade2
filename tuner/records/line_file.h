#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hockney {

// A text file that only ever grows by whole lines, each group of lines in one write, so that a
// reader, or a killed run, sees a valid file. Failures of the operating system throw
// EnvironmentError naming the path and the cause; what was written before stays, and half-written
// lines are taken back. One writer a file.
class LineFile {
 public:
  // Opens or creates the file for appending. A last line without end (of a killed run) is cut off.
  explicit LineFile(std::string path);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;

  bool empty() const { return bytes_ == 0; }

  // Appends `lines`, which end with a line feed. Throws std::invalid_argument if they do not.
  void Append(std::string_view lines);

  // Cuts off the last `bytes` of what Append wrote. Best effort, for use while an exception passes:
  // where the file cannot be cut (a device), nothing changes.
  void TakeBack(std::size_t bytes) noexcept;

 private:
  bool CutTo(long long bytes) noexcept;
  [[noreturn]] void Fail(const char* what) const;
  void CutUnfinishedLine();

  std::string path_;
  int descriptor_ = -1;
  long long bytes_ = 0;
};

// Writes `text` to a temporary file beside `path` and renames it, so that `path` is complete or as
// it was before. Throws EnvironmentError naming the path and the cause.
void ReplaceFile(const std::string& path, std::string_view text);

}  // namespace hockney
