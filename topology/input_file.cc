#include "topology/input_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "topology/check.h"

namespace hockney {

std::string ReadInputFile(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(1 << 16, '\0');
  std::size_t bytes = 0;
  while (file) {
    if (bytes == text.size()) text.resize(2 * text.size());
    file.read(text.data() + bytes, static_cast<std::streamsize>(text.size() - bytes));
    bytes += static_cast<std::size_t>(file.gcount());
    if (bytes > kMostBytes) throw InputError(fmt::format("{}: longer than 64 MiB", path));
  }
  if (!file.eof()) {  // not opened, or a folder
    const int error = errno;
    throw InputError(fmt::format("{}: cannot be read: {}", path,
                                 error == 0 ? "unknown cause" : strerrordesc_np(error)));
  }
  text.resize(bytes);
  return text;
}

TextPosition PositionAt(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t line_end = before.rfind('\n');
  const std::size_t column = line_end == before.npos ? before.size() : before.size() - line_end - 1;
  return {.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          .column = 1 + column};
}

void FailInput(std::string_view file, TextPosition at, std::string_view message) {
  throw InputError(fmt::format("{}:{}:{}: {}", file, at.line, at.column, message));
}

}  // namespace hockney
