#include "tuner/import/read_log.h"

#include <fmt/format.h>

#include <utility>

#include "topology/check.h"
#include "topology/input_file.h"
#include "tuner/import/readers.h"

namespace hockney {
namespace {

using Reader = std::vector<ImportedTable> (*)(const LogText& log, std::span<const LogLine> lines);

bool Holds(const LogLine& line, std::string_view text) {
  return line.text.find(text) != line.text.npos;
}

// A line that nothing but nccl-tests, or one that prints as it does, writes.
bool IsNcclTestsLine(const LogLine& line, std::span<const LogWord> words) {
  const std::string_view first = words[0].text;
  return IsNcclTestsHeader(words) || IsNcclTestsRow(words) || first == "nThread" ||
         first == "rccl-tests:" || Holds(line, "Collective test starting:") ||
         Holds(line, "# Using devices") || Holds(line, "nccl-tests version");
}

bool IsOsuLine(const LogLine& line, std::span<const LogWord> words) {
  const bool head = words[0].text == "Size" && words.size() > 1 && line.text.starts_with('#');
  return head || Holds(line, "# OSU ");
}

bool IsImbLine(const LogLine& line, std::span<const LogWord> words) {
  return Holds(line, "Intel(R) MPI Benchmarks") || Holds(line, "# Benchmarking ") ||
         line.text.find("#repetitions") != line.text.npos || words[0].text == "Benchmarking";
}

bool IsUcxLine(const LogLine& line, std::span<const LogWord>) {
  const bool csv = Holds(line, "avg_lat") && Holds(line, "overall_lat");
  return csv || (Holds(line, "|") && Holds(line, "# iterations"));
}

// Whose line this is; null where it does not tell.
Reader ReaderOf(const LogLine& line) {
  const std::vector<LogWord> words = WordsOf(line, "#");
  if (words.empty()) return nullptr;
  if (words[0].text.starts_with('{')) return ReadNcclTestsJson;
  if (IsUcxLine(line, words)) return ReadUcxPerftest;
  if (IsImbLine(line, words)) return ReadImb;
  if (IsOsuLine(line, words)) return ReadOsu;
  return IsNcclTestsLine(line, words) ? ReadNcclTestsText : nullptr;
}

// The number of lines of the JSON value that starts in the first of them; all, if it does not end.
std::size_t JsonLines(std::span<const LogLine> lines) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view text = lines[i].text;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (in_text) {
        if (c == '\\') ++at;
        in_text = c != '"';
      } else if (c == '"') {
        in_text = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (--depth == 0) return i + 1;
      }
    }
  }
  return lines.size();
}

// What the readers found.
struct Found {
  std::vector<ImportedTable> tables = {};
  std::vector<std::string> broken =
      {};  // JSON that cannot be read, which may be of another program
};

void ReadStretch(const LogText& log, Reader reader, std::span<const LogLine> lines, Found& found) {
  try {
    for (ImportedTable& table : reader(log, lines)) found.tables.push_back(std::move(table));
  } catch (const InputError& error) {
    if (reader != ReadNcclTestsJson) throw;
    found.broken.emplace_back(error.what());
  }
}

// Cuts the lines into stretches of one format and lets each reader read its own. What stands before
// the first mark of a format, such as a command line, goes with it.
Found ReadTables(const LogText& log) {
  Found found;
  const std::span<const LogLine> lines(log.lines());
  Reader reader = nullptr;
  std::size_t begin = 0;
  const auto finish = [&](std::size_t end) {
    if (reader != nullptr) ReadStretch(log, reader, lines.subspan(begin, end - begin), found);
    if (reader != nullptr) begin = end;
    reader = nullptr;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Reader next = ReaderOf(lines[i]);
    if (next == nullptr || next == reader) continue;
    finish(i);
    reader = next;
    if (next != ReadNcclTestsJson) continue;
    begin = i;
    i += JsonLines(lines.subspan(i)) - 1;
    finish(i + 1);
  }
  finish(lines.size());
  return found;
}

}  // namespace

ImportedLog ReadLogText(const std::string& path, std::string text) {
  const LogText log(path, std::move(text));
  ImportedLog result;
  Found found = ReadTables(log);
  result.notes = found.broken;
  for (ImportedTable& table : found.tables) {
    if (table.rows.empty()) continue;
    if (!table.unknown.empty()) {
      result.notes.push_back(fmt::format("{}:{}: left out: {}", path, table.line, table.unknown));
      continue;
    }
    for (ImportedTable& part : SplitSeries(std::move(table))) {
      result.tables.push_back(std::move(part));
    }
  }
  if (!result.tables.empty()) return result;
  if (!result.notes.empty()) throw InputError(result.notes[0]);
  if (!found.tables.empty())
    FailInput(path, {.line = found.tables[0].line}, "no rows behind the header");
  FailInput(path, {},
            "no table in it: expected output of nccl-tests (text or JSON), rccl-tests, OSU "
            "micro-benchmarks, Intel MPI Benchmarks or ucx_perftest");
}

ImportedLog ReadLog(const std::string& path) { return ReadLogText(path, ReadInputFile(path)); }

}  // namespace hockney
