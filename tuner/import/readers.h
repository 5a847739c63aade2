#pragma once

#include <span>
#include <vector>

#include "tuner/import/imported_table.h"
#include "tuner/import/log_text.h"

namespace hockney {

// The readers of ReadLog, one a format. Each gets the lines of `log` that are of its format and
// whatever stands between them, and returns its tables, also those without rows. They throw
// InputError `file:line:column: ...` for a field that cannot be read, and note what is left out.
// To add one: its file, its line here, its marks in read_log.cc.
std::vector<ImportedTable> ReadNcclTestsText(const LogText& log, std::span<const LogLine> lines);
std::vector<ImportedTable> ReadNcclTestsJson(const LogText& log, std::span<const LogLine> lines);
std::vector<ImportedTable> ReadOsu(const LogText& log, std::span<const LogLine> lines);
std::vector<ImportedTable> ReadImb(const LogText& log, std::span<const LogLine> lines);
std::vector<ImportedTable> ReadUcxPerftest(const LogText& log, std::span<const LogLine> lines);

// By what a line is known. `words` are without '#'.
bool IsNcclTestsHeader(std::span<const LogWord> words);
bool IsNcclTestsRow(std::span<const LogWord> words);

// `parameters` and `mode` of a point-to-point test are what tells it from others of its size.
// Ping-pong: half a round trip; the others: bytes that one rank sends over the rate.
inline constexpr const char* kPingPong = "isolated";
inline constexpr const char* kStream = "streamed";

}  // namespace hockney
