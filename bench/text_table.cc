#include "bench/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace hockney {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Columns {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
};

bool IsNumber(const std::string& cell) {
  return cell == "-" || (!cell.empty() && cell.find_first_not_of("0123456789.") == cell.npos);
}

// The first row holds the names, which say nothing about the side.
Columns MeasureColumns(const Rows& rows) {
  const std::size_t count = rows[0].size();
  Columns columns{std::vector<std::size_t>(count), std::vector<bool>(count, rows.size() > 1)};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < count; ++c) {
      columns.widths[c] = std::max(columns.widths[c], rows[r].at(c).size());
      if (r > 0 && !IsNumber(rows[r][c])) columns.right[c] = false;
    }
  }
  return columns;
}

std::string Pad(const Columns& columns, std::size_t c, const std::string& cell) {
  return columns.right[c] ? fmt::format("{:>{}}", cell, columns.widths[c])
                          : fmt::format("{:<{}}", cell, columns.widths[c]);
}

// A bar would end the cell.
Rows EscapeBars(Rows rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) {
      for (std::size_t at = 0; (at = cell.find('|', at)) != cell.npos; at += 2) {
        cell.insert(at, 1, '\\');
      }
    }
  }
  return rows;
}

}  // namespace

std::string FormatTable(const Rows& rows) {
  std::string text;
  if (rows.empty()) return text;
  const Columns columns = MeasureColumns(rows);
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      line += Pad(columns, c, row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FormatMarkdownTable(const Rows& unescaped) {
  std::string text;
  if (unescaped.empty()) return text;
  const Rows rows = EscapeBars(unescaped);
  Columns columns = MeasureColumns(rows);
  std::string rule = "|";
  for (std::size_t c = 0; c < columns.widths.size(); ++c) {
    columns.widths[c] = std::max<std::size_t>(columns.widths[c], 1);
    rule += std::string(columns.widths[c] + 1, '-') + (columns.right[c] ? ":|" : "-|");
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      text += " " + Pad(columns, c, rows[r][c]) + " |";
    text += "\n";
    if (r == 0) text += rule + "\n";
  }
  return text;
}

}  // namespace hockney
