#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topology/check.h"  // IWYU pragma: export: InputError

namespace io {
class LineReader;  // fast-cpp-csv-parser
}

namespace hockney {

// One field of a CSV row, quotes taken off.
struct CsvField {
  std::string text = {};
  std::size_t column = 1;  // 1-based position of its first character in the line
};

// Returns `value` as one CSV field (RFC 4180): quoted where it holds a comma or a quote, or begins
// with '#'. Throws std::invalid_argument for a line break or NUL, which no reader of lines could
// take apart again.
std::string CsvText(std::string_view value);

// What to do with a last line that has no line end.
enum class UnfinishedLine {
  kDrop,  // a killed run wrote half of it; our writer ends every line
  kRead,  // files of people and other programs
};

// Reads a CSV file as text fields: first lines `# key=value`, then one row of names, then rows with
// as many fields. Skipped are a byte order mark, empty lines and further lines that begin with '#';
// line ends are LF or CRLF.
class CsvReader {
 public:
  // Opens the file and reads the names. Throws InputError if it cannot be opened, is not text, or
  // has no or equal names.
  CsvReader(std::string path, UnfinishedLine unfinished);
  // The same of a text that stands in the file.
  CsvReader(std::string path, std::string text, UnfinishedLine unfinished);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  const std::map<std::string, std::string>& header() const { return header_; }
  // What was dropped, as a line for people; empty if nothing was.
  const std::string& note() const { return note_; }

  // Reads the next row into `fields`; false at the end. Throws InputError for a wrong number of
  // fields or quotes.
  bool Next(std::vector<CsvField>* fields);

  // 1-based number of the line read last.
  std::size_t line() const;

  // Throws InputError for the line read last: `path:line:column: <message>`.
  [[noreturn]] void Fail(std::size_t column, const std::string& message) const;

 private:
  char* NextLine();
  std::vector<CsvField> Split(std::string_view line) const;
  void ReadNames();

  std::string path_;
  std::string text_;  // LineReader keeps pointers into it
  std::unique_ptr<io::LineReader> lines_;
  std::map<std::string, std::string> header_;
  std::vector<std::string> names_;
  std::string note_;
};

}  // namespace hockney
