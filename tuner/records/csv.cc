#include "tuner/records/csv.h"

#include <fmt/format.h>
#include <libfccp/csv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace hockney {
namespace {

constexpr std::size_t kShownCharacters = 80;  // of an offending text, to keep messages on one line

std::string Shown(std::string_view text) {
  if (text.size() <= kShownCharacters) return std::string(text);
  return std::string(text.substr(0, kShownCharacters)) + "...";
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  // An empty file sets failbit on `text` only; a folder opens, but fails to read.
  if (!file) {
    throw InputError(path + ": cannot be read: " + std::generic_category().message(errno));
  }
  return std::move(text).str();
}

// Returns the length of `text` up to its last line end.
std::size_t FinishedBytes(std::string_view text) {
  const std::size_t last = text.rfind('\n');
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

std::string CsvText(std::string_view value) {
  using std::string_view_literals::operator""sv;
  if (value.find_first_of("\n\r\0"sv) != std::string_view::npos) {
    std::string shown = Shown(value);
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; },
        ' ');
    throw std::invalid_argument("a CSV value cannot hold a line break or NUL: \"" + shown + "\"");
  }
  if (value.find_first_of(",\"") == std::string_view::npos && !value.starts_with('#')) {
    return std::string(value);
  }
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

CsvReader::CsvReader(std::string path, UnfinishedLine unfinished)
    : CsvReader(path, ReadText(path), unfinished) {}

CsvReader::CsvReader(std::string path, std::string text, UnfinishedLine unfinished)
    : path_(std::move(path)), text_(std::move(text)) {
  if (text_.find('\0') != std::string::npos) {
    throw InputError(path_ + ":1:1: holds NUL bytes: expected a CSV file in UTF-8");
  }
  const std::size_t finished = FinishedBytes(text_);
  if (finished < text_.size()) {
    if (unfinished == UnfinishedLine::kDrop) {
      note_ = fmt::format("{}: the last line has no end and was left out: \"{}\"", path_,
                          Shown(std::string_view(text_).substr(finished)));
      text_.resize(finished);
    } else {
      text_ += '\n';  // LineReader may look one byte behind a line without end
    }
  }
  lines_ = std::make_unique<io::LineReader>(path_, text_.data(), text_.data() + text_.size());
  ReadNames();
}

CsvReader::~CsvReader() = default;

char* CsvReader::NextLine() {
  try {
    return lines_->next_line();
  } catch (const io::error::base&) {
    Fail(1, "the line is longer than 2^24-1 bytes");
  }
}

void CsvReader::ReadNames() {
  while (const char* line = NextLine()) {
    std::string_view text(line);
    if (text.empty()) continue;
    if (!text.starts_with('#')) {
      for (CsvField& field : Split(text)) {
        if (std::find(names_.begin(), names_.end(), field.text) != names_.end()) {
          Fail(field.column, "\"" + Shown(field.text) + "\": expected each column name once");
        }
        names_.push_back(std::move(field.text));
      }
      return;
    }
    text.remove_prefix(1);
    if (text.starts_with(' ')) text.remove_prefix(1);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    header_.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  throw InputError(fmt::format("{}:{}:1: expected a row of column names, found the end of the file",
                               path_, lines_->get_file_line() + 1));
}

bool CsvReader::Next(std::vector<CsvField>* fields) {
  while (const char* line = NextLine()) {
    if (*line == '\0' || *line == '#') continue;
    *fields = Split(line);
    if (fields->size() != names_.size()) {
      Fail(1, fmt::format("expected {} fields, found {}: \"{}\"", names_.size(), fields->size(),
                          Shown(line)));
    }
    return true;
  }
  return false;
}

std::vector<CsvField> CsvReader::Split(std::string_view line) const {
  std::vector<CsvField> fields;
  std::size_t at = 0;
  while (true) {
    CsvField field{.text = {}, .column = at + 1};
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at == line.size()) Fail(field.column, "expected a closing quote");
        if (line[at] == '"' && (++at == line.size() || line[at] != '"')) break;
        field.text += line[at];
      }
      if (at < line.size() && line[at] != ',') Fail(at + 1, "expected a comma after a quote");
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field.text = line.substr(at, end - at);
      const std::size_t quote = field.text.find('"');
      if (quote != std::string::npos) {
        Fail(at + quote + 1, "\"" + Shown(field.text) + "\": expected the whole field in quotes");
      }
      at = end;
    }
    fields.push_back(std::move(field));
    if (at == line.size()) return fields;
    ++at;  // the comma
  }
}

std::size_t CsvReader::line() const { return lines_->get_file_line(); }

void CsvReader::Fail(std::size_t column, const std::string& message) const {
  throw InputError(fmt::format("{}:{}:{}: {}", path_, lines_->get_file_line(), column, message));
}

}  // namespace hockney
