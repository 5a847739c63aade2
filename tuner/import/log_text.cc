#include "tuner/import/log_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "topology/check.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

// Whether the text begins as 2026-07-09T14:03:59 does.
bool StartsWithTime(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00";
  return text.size() > kShape.size() &&
         std::equal(kShape.begin(), kShape.end(), text.begin(), [](char shape, char c) {
           return shape == '0' ? c >= '0' && c <= '9' : shape == c;
         });
}

// Length of a launcher's mark at the front of `text`, 0 if there is none.
std::size_t MarkLength(std::string_view text) {
  if (StartsWithTime(text)) return std::min(text.find(' '), text.size() - 1) + 1;
  // Open MPI: [1,0]<stdout>: and, since 5.0, [prterun-node-1234@1,0]<stdout>:
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return 0;
    const std::string_view behind = text.substr(close + 1);
    for (const std::string_view stream : {"<stdout>:", "<stderr>:", "<stddiag>:"}) {
      if (behind.starts_with(stream)) return close + 1 + stream.size();
    }
    // MPICH and Intel MPI: [0] before each line.
    return IsWhole(text.substr(1, close - 1)) && behind.starts_with(' ') ? close + 2 : 0;
  }
  // srun -l: the number of the task, blanks before it, then a colon and a blank.
  const std::size_t digit = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = std::min(text.find_first_not_of("0123456789", digit), text.size());
  if (end == digit || !text.substr(end).starts_with(':')) return 0;
  const std::string_view behind = text.substr(end + 1);
  if (behind.empty()) return end + 1;
  return behind.starts_with(' ') ? end + 2 : 0;
}

// Overwrites colours of a terminal ("\x1b[4m") with blanks, so that columns stay.
void BlankColours(std::string& text) {
  for (std::size_t at = 0; (at = text.find("\x1b[", at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789;?", at + 2), text.size());
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
              text.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, text.size())), ' ');
    at = end;
  }
}

template <class T>
std::optional<T> Parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

LogText::LogText(std::string file, std::string text)
    : file_(std::move(file)), text_(std::move(text)) {
  if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF") ||
      text_.find('\0') != text_.npos) {
    FailInput(file_, {}, "UTF-16 or other bytes that are no text: expected a log in UTF-8");
  }
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
  if (text_.find_first_not_of(" \t\r\n") == text_.npos) {
    FailInput(file_, {}, "nothing in it: expected a log");
  }
  BlankColours(text_);
  const char line_end = text_.find('\n') == text_.npos ? '\r' : '\n';
  const std::string_view all = text_;
  lines_.reserve(static_cast<std::size_t>(std::count(all.begin(), all.end(), line_end)) + 1);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find(line_end, at);
    LogLine line{.number = lines_.size() + 1, .ended = end != all.npos};
    line.text = all.substr(at, std::min(end, all.size()) - at);
    while (line.text.ends_with('\r')) line.text.remove_suffix(1);
    // One launcher may run under another.
    for (std::size_t mark = 0; (mark = MarkLength(line.text)) > 0; line.column += mark) {
      line.text.remove_prefix(mark);
    }
    lines_.push_back(line);
    at = line.ended ? end + 1 : all.size();
  }
}

std::string LogText::At(const LogLine& line, std::string_view what) const {
  return fmt::format("{}:{}: {}", file_, line.number, what);
}

void LogText::Fail(const LogLine& line, const LogWord& word, std::string_view expected) const {
  FailInput(file_, {.line = line.number, .column = word.column},
            fmt::format("\"{}\": expected {}", Shown(word.text), expected));
}

void LogText::Fail(const LogLine& line, std::string_view message) const {
  FailInput(file_, {.line = line.number, .column = line.column}, message);
}

std::optional<double> LogText::Number(const LogLine& line, const LogWord& word) const {
  if (IsMissing(word.text)) return std::nullopt;
  const auto value = Parse<double>(word.text);
  if (!value || !std::isfinite(*value) || *value < 0) {
    Fail(line, word, "a number >= 0 or N/A");
  }
  return value;
}

std::optional<std::uint64_t> LogText::Whole(const LogLine& line, const LogWord& word) const {
  if (IsMissing(word.text)) return std::nullopt;
  const auto value = Parse<std::uint64_t>(word.text);
  if (!value) Fail(line, word, "a whole number below 2^64");
  return value;
}

std::vector<LogWord> WordsOf(const LogLine& line, std::string_view skip) {
  const std::string blanks = std::string(kBlanks) + std::string(skip);
  std::vector<LogWord> words;
  for (std::size_t at = 0;;) {
    at = line.text.find_first_not_of(blanks, at);
    if (at == line.text.npos) return words;
    const std::size_t end = std::min(line.text.find_first_of(blanks, at), line.text.size());
    words.push_back({.text = line.text.substr(at, end - at), .column = line.column + at});
    at = end;
  }
}

bool IsWhole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == text.npos &&
         Parse<double>(text).has_value();
}

bool IsMissing(std::string_view text) {
  if (text.starts_with('-') && text.size() > 1) text.remove_prefix(1);
  constexpr std::string_view kWords[] = {"N/A", "n/a", "NA", "-", "nan", "NaN", "inf", "Inf"};
  return std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
}

std::string_view BehindKey(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return {};
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t:="), text.size()));
  return text.substr(0, text.find_first_of(" \t,;\r"));
}

std::size_t Decimals(std::string_view number) {
  const std::size_t point = number.find('.');
  if (point == number.npos) return 0;
  const std::size_t end =
      std::min(number.find_first_not_of("0123456789", point + 1), number.size());
  return end - point - 1;
}

std::string Shown(std::string_view text) {
  constexpr std::size_t kMostBytes = 80;
  std::string shown(text.substr(0, kMostBytes));
  if (text.size() > kMostBytes) shown += "...";
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return shown;
}

}  // namespace hockney
