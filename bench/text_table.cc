#include "bench/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace hockney {
namespace {

bool IsNumber(const std::string& cell) {
  return cell == "-" || (!cell.empty() && cell.find_first_not_of("0123456789.") == cell.npos);
}

}  // namespace

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  if (rows.empty()) return text;
  const std::size_t columns = rows[0].size();
  std::vector<std::size_t> widths(columns);
  std::vector<bool> right(columns, rows.size() > 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], rows[r].at(c).size());
      if (r > 0 && !IsNumber(rows[r][c])) right[c] = false;
    }
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      if (c > 0) line += "  ";
      line += right[c] ? fmt::format("{:>{}}", row[c], widths[c])
                       : fmt::format("{:<{}}", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace hockney
