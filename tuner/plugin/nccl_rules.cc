#include "tuner/plugin/nccl_rules.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <span>

#include "topology/check.h"
#include "tuner/plugin/tuner_abi.h"

namespace hockney {
namespace {

constexpr std::size_t kLeastFields = 8;
constexpr std::size_t kMostFields = 10;
constexpr std::size_t kLineBuffer = 256;  // of NCCL's example, with the line's end

// The text as one line of a message: at most 40 bytes, those that do not print as \xNN.
std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~') {
      quoted += c;
    } else {
      quoted += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
  }
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

std::string Listed(std::span<const std::string_view> names) {
  std::string list(names[0]);
  for (std::size_t i = 1; i < names.size(); ++i) {
    list += (i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  }
  return list;
}

// Reads one line, field by field.
class LineReader {
 public:
  LineReader(std::string_view line, std::string_view file, std::size_t number)
      : line_(line), file_(file), number_(number) {
    if (line_.size() + 1 < kLineBuffer) return;
    Fail(kLineBuffer - 1, line_, "at most 254 bytes a line, which NCCL's example can read");
  }

  NcclRule Read() {
    Split();
    NcclRule rule{.line = number_};
    rule.function = Choice(0, tuner_abi::kFunctions);
    rule.min_bytes = Bytes(1);
    rule.max_bytes = Bytes(2);
    if (rule.min_bytes > rule.max_bytes) {
      Fail(columns_[2], fields_[2], "no less than min_bytes, " + std::string(fields_[1]));
    }
    rule.algorithm = Choice(3, tuner_abi::kAlgorithms);
    rule.protocol = Choice(4, tuner_abi::kProtocols);
    rule.channels = CountOrAny(5, tuner_abi::kMostChannels);
    constexpr int kMost = std::numeric_limits<int>::max();
    rule.nodes = CountOrAny(6, kMost);
    rule.ranks = CountOrAny(7, kMost);
    if (fields_.size() > 8) rule.pipe_ops = CountOrAny(8, kMost);
    if (fields_.size() > 9 && fields_[9] != "-1") {
      Fail(columns_[9], fields_[9],
           "-1: ranks differ in whether buffers are registered, and all must choose alike");
    }
    return rule;
  }

  [[noreturn]] void Fail(std::size_t column, std::string_view text,
                         const std::string& expected) const {
    throw InputError(std::string(file_) + ":" + std::to_string(number_) + ":" +
                     std::to_string(column) + ": " + Quoted(text) + ": expected " + expected);
  }

 private:
  void Split() {
    const std::size_t odd = line_.find_first_of(std::string_view(" \t\r\0", 4));
    if (odd != line_.npos && odd + 1 == line_.size() && line_[odd] == '\r') {
      Fail(odd + 1, line_.substr(odd), "lines that end with a line feed alone");
    }
    if (odd != line_.npos) {
      Fail(odd + 1, line_.substr(odd), "no spaces, tabs or other white space in a rule");
    }
    for (std::size_t begin = 0;;) {
      const std::size_t comma = std::min(line_.find(',', begin), line_.size());
      fields_.push_back(line_.substr(begin, comma - begin));
      columns_.push_back(begin + 1);
      if (comma == line_.size()) break;
      begin = comma + 1;
    }
    for (std::size_t i = 0; i < std::min(fields_.size(), kMostFields); ++i) {
      if (fields_[i].empty()) Fail(columns_[i], "", "a value: no field may be empty");
    }
    if (fields_.size() < kLeastFields) {
      Fail(line_.size() + 1, "",
           "8 to 10 fields, but this line has " + std::to_string(fields_.size()));
    }
    if (fields_.size() > kMostFields) {
      Fail(columns_[kMostFields], line_.substr(columns_[kMostFields] - 1),
           "8 to 10 fields, but this line has " + std::to_string(fields_.size()));
    }
  }

  int Choice(std::size_t field, std::span<const std::string_view> names) const {
    const auto found = std::find(names.begin(), names.end(), fields_[field]);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    const std::string header = fields_[0] == "collective_type" ? " (and no line of names)" : "";
    Fail(columns_[field], fields_[field], Listed(names) + header);
  }

  // Whether the field is a whole number without sign and fits.
  template <class T>
  bool ReadNumber(std::size_t field, T* value) const {
    const std::string_view text = fields_[field];
    if (text[0] < '0' || text[0] > '9') return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return error == std::errc() && end == text.data() + text.size();
  }

  std::uint64_t Bytes(std::size_t field) const {
    std::uint64_t bytes = 0;
    if (ReadNumber(field, &bytes)) return bytes;
    Fail(columns_[field], fields_[field], "a whole number of bytes, at most 18446744073709551615");
  }

  int CountOrAny(std::size_t field, int most) const {
    if (fields_[field] == "-1") return NcclRule::kAny;
    int count = 0;
    if (ReadNumber(field, &count) && count >= 1 && count <= most) return count;
    Fail(columns_[field], fields_[field], "-1 or a whole number of 1 to " + std::to_string(most));
  }

  std::string_view line_;
  std::string_view file_;
  std::size_t number_;
  std::vector<std::string_view> fields_ = {};
  std::vector<std::size_t> columns_ = {};  // where they begin, from 1
};

bool Meet(int a, int b) { return a == b || a == NcclRule::kAny || b == NcclRule::kAny; }

// Whether some call is one of both.
bool Overlap(const NcclRule& a, const NcclRule& b) {
  return a.function == b.function && a.min_bytes <= b.max_bytes && b.min_bytes <= a.max_bytes &&
         Meet(a.nodes, b.nodes) && Meet(a.ranks, b.ranks) && Meet(a.pipe_ops, b.pipe_ops);
}

}  // namespace

std::vector<NcclRule> ParseNcclRules(std::string_view text, std::string_view file) {
  std::vector<NcclRule> rules;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    LineReader reader(line, file, number);
    if (line[0] == '#') continue;
    const NcclRule rule = reader.Read();
    for (const NcclRule& earlier : rules) {
      if (!Overlap(earlier, rule)) continue;
      reader.Fail(1, line,
                  "no sizes that line " + std::to_string(earlier.line) + " decides already");
    }
    if (rules.size() == kMostNcclRules) {
      reader.Fail(1, line, "at most " + std::to_string(kMostNcclRules) + " rules");
    }
    rules.push_back(rule);
  }
  return rules;
}

std::string FormatNcclRule(const NcclRule& rule) {
  std::string line(tuner_abi::kFunctions[rule.function]);
  line += "," + std::to_string(rule.min_bytes) + "," + std::to_string(rule.max_bytes);
  line += "," + std::string(tuner_abi::kAlgorithms[rule.algorithm]);
  line += "," + std::string(tuner_abi::kProtocols[rule.protocol]);
  for (const int number : {rule.channels, rule.nodes, rule.ranks}) {
    line += "," + std::to_string(number);
  }
  if (rule.pipe_ops != NcclRule::kAny) line += "," + std::to_string(rule.pipe_ops);
  return line;
}

const NcclRule* FindNcclRule(const std::vector<NcclRule>& rules, int function, std::uint64_t bytes,
                             int pipe_ops) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const NcclRule& rule) {
    return rule.function == function && rule.min_bytes <= bytes && bytes <= rule.max_bytes &&
           (rule.pipe_ops == NcclRule::kAny || rule.pipe_ops == pipe_ops);
  });
  return found == rules.end() ? nullptr : &*found;
}

std::vector<NcclRule> NcclRulesFor(const std::vector<NcclRule>& rules, std::size_t ranks,
                                   std::size_t nodes) {
  const auto meets = [](int wanted, std::size_t is) {
    return wanted == NcclRule::kAny || static_cast<std::size_t>(wanted) == is;
  };
  std::vector<NcclRule> chosen;
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(chosen), [&](const NcclRule& rule) {
    return meets(rule.ranks, ranks) && meets(rule.nodes, nodes);
  });
  return chosen;
}

std::string ReadNcclRuleFile(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  errno = 0;
  const std::unique_ptr<std::FILE, Deleter<std::fclose>> file(std::fopen(path.c_str(), "rbe"));
  std::string text(file == nullptr ? 0 : kMostBytes + 1, '\0');
  if (file != nullptr) text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (file == nullptr || std::ferror(file.get()) != 0) {  // a folder can be opened, but not read
    throw InputError(path + ": cannot be read: " + strerrordesc_np(errno));
  }
  if (text.size() > kMostBytes) throw InputError(path + ": longer than 1 MiB");
  return text;
}

std::string HashOfNcclRules(std::string_view text) {
  constexpr std::uint64_t kBasis = 14695981039346656037U;
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t hash = kBasis;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  std::array<char, 16> digits;
  digits.fill('0');
  std::array<char, 16> found{};
  const char* const end = std::to_chars(found.data(), found.data() + found.size(), hash, 16).ptr;
  const auto length = static_cast<std::size_t>(end - found.data());
  std::copy_n(found.data(), length, digits.data() + (digits.size() - length));
  return {digits.data(), digits.size()};
}

}  // namespace hockney
