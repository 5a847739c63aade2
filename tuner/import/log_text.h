#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// A word of a line, and the 1-based byte column at which the file has it.
struct LogWord {
  std::string_view text = {};
  std::size_t column = 1;
};

// A line of a log without what launchers and collectors put before it: Open MPI's `[1,0]<stdout>:`,
// Slurm's `0: `, MPICH's `[0] `, times such as 2026-07-09T14:03:59Z; colours of a terminal are
// blanks.
struct LogLine {
  std::size_t number = 1;  // 1-based line of the file
  std::size_t column = 1;  // 1-based column of the text's first byte
  std::string_view text = {};
  bool ended = true;  // false for a last line without line end
};

// The text of a log that somebody saved. Views point into it, so it is not copied or moved.
class LogText {
 public:
  // Cuts `text` into lines; they end with LF, CR LF, or a lone CR where there is no LF. A byte
  // order mark is skipped. Throws InputError, which names `file`, for an empty text and for one
  // that is not 8-bit text, such as UTF-16.
  LogText(std::string file, std::string text);
  LogText(const LogText&) = delete;
  LogText& operator=(const LogText&) = delete;

  const std::string& file() const { return file_; }
  const std::vector<LogLine>& lines() const { return lines_; }

  // `<file>:<line>: <what>`, for notes.
  std::string At(const LogLine& line, std::string_view what) const;
  // Throws InputError `<file>:<line>:<column>: "<word>": expected <expected>`.
  [[noreturn]] void Fail(const LogLine& line, const LogWord& word, std::string_view expected) const;
  // Throws InputError `<file>:<line>:<column>: <message>` for the line as a whole.
  [[noreturn]] void Fail(const LogLine& line, std::string_view message) const;

  // The number that the word is; nothing for N/A, -, nan and inf. Throws InputError for another
  // word.
  std::optional<double> Number(const LogLine& line, const LogWord& word) const;
  // The same of a whole number below 2^64.
  std::optional<std::uint64_t> Whole(const LogLine& line, const LogWord& word) const;

 private:
  std::string file_;
  std::string text_;
  std::vector<LogLine> lines_;
};

// The words of a line, which blanks separate; `skip` characters such as '#' count as blanks.
std::vector<LogWord> WordsOf(const LogLine& line, std::string_view skip = "");

// Whether the text is digits only, one or more.
bool IsWhole(std::string_view text);
// Whether the text is a decimal number, with sign, point and exponent as they come.
bool IsNumber(std::string_view text);
// What stands for a value that was not measured: N/A, -, nan, inf.
bool IsMissing(std::string_view text);

// What stands behind `key` in the text, up to the next blank or comma; "" if the key is not there.
std::string_view BehindKey(std::string_view text, std::string_view key);

// Digits behind the point: 2 for "12.50", 0 for "12".
std::size_t Decimals(std::string_view number);

// Text for a message: control characters are blanks, and a long one is cut.
std::string Shown(std::string_view text);

}  // namespace hockney
