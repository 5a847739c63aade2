#include "bench/groups/split_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "bench/options.h"
#include "topology/check.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

constexpr std::string_view kAccepted = "DIV:n, MOD:n, AND:n, OR:n or a file of groups";

struct Operator {
  std::string_view name;
  char sign;
  std::uint64_t (*apply)(std::uint64_t rank, std::uint64_t value);
};

constexpr Operator kOperators[] = {
    {"DIV", '/', [](std::uint64_t rank, std::uint64_t value) { return rank / value; }},
    {"MOD", '%', [](std::uint64_t rank, std::uint64_t value) { return rank % value; }},
    {"AND", '&', [](std::uint64_t rank, std::uint64_t value) { return rank & value; }},
    {"OR", '|', [](std::uint64_t rank, std::uint64_t value) { return rank | value; }},
};

bool Divides(const Operator& operation) { return operation.sign == '/' || operation.sign == '%'; }

std::optional<std::uint64_t> ReadNumber(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
  if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
  if (base != 10) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

struct Rule {
  const Operator* operation = nullptr;
  std::string_view number;
};

// The rule of a text like "DIV:8"; none if it does not begin with an operator's name and a colon.
std::optional<Rule> FindRule(std::string_view text) {
  for (const Operator& operation : kOperators) {
    const std::size_t length = operation.name.size();
    if (text.starts_with(operation.name) && text.substr(length).starts_with(':')) {
      return Rule{&operation, text.substr(length + 1)};
    }
  }
  return std::nullopt;
}

GroupMembers MembersOf(const Rule& rule, int ranks) {
  const std::uint64_t value = ReadNumber(rule.number).value();
  std::map<std::uint64_t, std::size_t> number_of;
  GroupMembers members;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::uint64_t color = rule.operation->apply(static_cast<std::uint64_t>(rank), value);
    const auto [group, is_new] = number_of.try_emplace(color, members.size());
    if (is_new) members.emplace_back();
    members[group->second].push_back(rank);
  }
  return members;
}

// A rule that is misspelt looks like a file that is not there.
std::string ReadGroupFile(const std::string& path) {
  try {
    return ReadInputFile(path);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}; --split expects {}", error.what(), kAccepted));
  }
}

// Reads a file of groups.
class GroupFile {
 public:
  GroupFile(const std::string& path, int ranks)
      : path_(path), text_(ReadGroupFile(path)), group_of_(ranks, -1) {}

  GroupMembers Read() {
    while (at_ < text_.size()) {
      if (IsSeparator(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == '\n') {
        EndLine();
      } else {
        ReadRange();
      }
    }
    EndLine();
    return Collect();
  }

 private:
  static bool IsSeparator(char c) { return c == ' ' || c == '\t' || c == ',' || c == '\r'; }

  [[noreturn]] void Fail(std::size_t at, const std::string& message) const {
    FailInput(path_, PositionAt(text_, at), message);
  }

  void EndLine() {
    if (line_has_ranks_) ++groups_;
    line_has_ranks_ = false;
    ++at_;
  }

  int ReadRank() {
    int rank = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), rank);
    const auto length = static_cast<std::size_t>(stop - begin);
    if (error != std::errc() || *begin == '-') {
      const std::size_t word_end = std::min(text_.find_first_of(" \t,\r\n#", at_), text_.size());
      Fail(at_, fmt::format("\"{}\": expected ranks and ranges, as in 0-3 8",
                            text_.substr(at_, word_end - at_)));
    }
    if (rank >= static_cast<int>(group_of_.size())) {
      Fail(at_, fmt::format("\"{}\": expected a rank of 0..{}", text_.substr(at_, length),
                            group_of_.size() - 1));
    }
    at_ += length;
    return rank;
  }

  void ReadRange() {
    const std::size_t begin = at_;
    const int first = ReadRank();
    int last = first;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      last = ReadRank();
    }
    const std::string range = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && !IsSeparator(text_[at_]) && text_[at_] != '\n' && text_[at_] != '#') {
      Fail(at_, fmt::format("\"{}\": expected a space, comma or line end", text_[at_]));
    }
    if (last < first) Fail(begin, fmt::format("\"{}\": expected an ascending range", range));
    for (int rank = first; rank <= last; ++rank) {
      if (group_of_[rank] >= 0) {
        Fail(begin, fmt::format("\"{}\": rank {} stands in two places, expected one", range, rank));
      }
      group_of_[rank] = groups_;
    }
    line_has_ranks_ = true;
  }

  GroupMembers Collect() const {
    GroupMembers by_line(groups_);
    for (std::size_t rank = 0; rank < group_of_.size(); ++rank) {
      if (group_of_[rank] < 0) {
        Fail(text_.size(), fmt::format("rank {} is in no group, expected every rank of 0..{}", rank,
                                       group_of_.size() - 1));
      }
      by_line[group_of_[rank]].push_back(static_cast<int>(rank));
    }
    std::sort(by_line.begin(), by_line.end());  // by their first ranks
    return by_line;
  }

  const std::string& path_;
  std::string text_;
  std::vector<int> group_of_;  // by rank, -1: not read yet
  std::size_t at_ = 0;
  int groups_ = 0;
  bool line_has_ranks_ = false;
};

}  // namespace

void CheckSplit(std::string_view option, const std::string& text) {
  const auto rule = FindRule(text);
  if (!rule) {
    if (text.empty()) FailOption(option, text, kAccepted);
    return;
  }
  const auto value = ReadNumber(rule->number);
  if (!value || (*value == 0 && Divides(*rule->operation))) {
    FailOption(option, text,
               fmt::format("{}:n with a whole number n from {}", rule->operation->name,
                           Divides(*rule->operation) ? 1 : 0));
  }
}

GroupMembers SplitRanks(const std::string& text, int ranks) {
  const auto rule = FindRule(text);
  return rule ? MembersOf(*rule, ranks) : GroupFile(text, ranks).Read();
}

std::string SplitOfNcclTests(std::string_view option, std::string_view text) {
  for (const Operator& operation : kOperators) {
    std::string_view rest = text;
    if (rest.starts_with(operation.name)) {
      rest.remove_prefix(operation.name.size());
    } else if (rest.starts_with(operation.sign)) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
    const auto value = ReadNumber(rest);
    if (!value || (*value == 0 && Divides(operation))) break;
    return fmt::format("{}:{}", operation.name, rest);
  }
  FailOption(option, text, "AND, OR, MOD, DIV or & | % / and a number, for example \"MOD 8\"");
}

}  // namespace hockney
