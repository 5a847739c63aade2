#include "tuner/exports/ompi_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "collectives/baselines/mpi/mpi_algorithms.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

constexpr int kCollectives = 22;  // ids of 4.1
// In the order of Open MPI's numbers.
constexpr std::array<std::string_view, kCollectives> kNames = {"allgather",
                                                               "allgatherv",
                                                               "allreduce",
                                                               "alltoall",
                                                               "alltoallv",
                                                               "alltoallw",
                                                               "barrier",
                                                               "bcast",
                                                               "exscan",
                                                               "gather",
                                                               "gatherv",
                                                               "reduce",
                                                               "reduce_scatter",
                                                               "reduce_scatter_block",
                                                               "scan",
                                                               "scatter",
                                                               "scatterv",
                                                               "neighbor_allgather",
                                                               "neighbor_allgatherv",
                                                               "neighbor_alltoall",
                                                               "neighbor_alltoallv",
                                                               "neighbor_alltoallw"};
constexpr std::string_view kVersion2 = "rule-file-version-2";
constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Token {
  std::uint64_t value = 0;
  TextPosition at = {};
};

// The numbers of a text, one after the other.
class Tokens {
 public:
  Tokens(std::string_view file, std::string_view text) : file_(file) {
    std::size_t line = 1;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      ReadLine(text.substr(0, end), line);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      if (end == std::string_view::npos) break;
      ++line;
    }
    end_ = {.line = line, .column = 1};
  }

  bool has_version_2() const { return has_version_2_; }
  bool done() const { return next_ == tokens_.size(); }
  const Token& Peek(std::string_view expected) const {
    if (done()) FailInput(file_, end_, fmt::format("the file ends: expected {}", expected));
    return tokens_[next_];
  }
  Token Take(std::string_view expected, std::uint64_t most = kMost) {
    const Token token = Peek(expected);
    if (token.value > most) {
      FailInput(file_, token.at, fmt::format("\"{}\": expected {}", token.value, expected));
    }
    ++next_;
    return token;
  }
  // All numbers of the line the next one stands on; it must be the first there.
  std::vector<Token> TakeLine(std::string_view expected) {
    const Token first = Peek(expected);
    if (next_ > 0 && tokens_[next_ - 1].at.line == first.at.line) {
      FailInput(file_, first.at,
                fmt::format("\"{}\": expected {} on a line of its own", first.value, expected));
    }
    std::vector<Token> line;
    while (!done() && tokens_[next_].at.line == first.at.line) line.push_back(tokens_[next_++]);
    return line;
  }

 private:
  void ReadLine(std::string_view line, std::size_t number);

  std::string_view file_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  bool has_version_2_ = false;
  TextPosition end_;
};

void Tokens::ReadLine(std::string_view line, std::size_t number) {
  line = line.substr(0, line.find('#'));
  if (number == 1 && line.substr(0, line.find_last_not_of(" \t") + 1) == kVersion2) {
    has_version_2_ = true;
    return;
  }
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::string_view word = line.substr(at, line.find_first_of(" \t", at) - at);
    const TextPosition position{.line = number, .column = at + 1};
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_octal = word.size() > 1 && word[0] == '0';
    if (error != std::errc() || stop != word.data() + word.size() || is_octal || value > kMost) {
      std::string shown(word.substr(0, 40));
      std::replace_if(
          shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
      FailInput(file_, position,
                fmt::format("\"{}\": expected a decimal number of at most 2^63-1, without sign and "
                            "leading zeros, or a comment that begins with #",
                            shown));
    }
    tokens_.push_back({value, position});
    at += word.size();
  }
}

// Reads the counts and entries of a file.
class Reader {
 public:
  Reader(std::string_view file, std::string_view text) : file_(file), tokens_(file, text) {
    if (tokens_.has_version_2()) fields_ = 5;
  }

  OmpiRules Read() {
    OmpiRules rules;
    const auto count = tokens_.Take("the number of collectives, 0 to 22", kCollectives).value;
    rules.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) rules.push_back(ReadCollective());
    if (!tokens_.done()) {
      const Token& token = tokens_.Peek("");
      FailInput(file_, token.at,
                fmt::format("\"{}\": expected the end of the file after {} collectives",
                            token.value, count));
    }
    return rules;
  }

 private:
  OmpiCollectiveRules ReadCollective() {
    const Token id = tokens_.Take("the number of a collective, 0 to 21", kCollectives - 1);
    OmpiCollectiveRules collective{.id = static_cast<int>(id.value), .line = id.at.line};
    const auto count = tokens_.Take("how many numbers of ranks follow").value;
    for (std::uint64_t i = 0; i < count; ++i) collective.ranks.push_back(ReadRanks());
    return collective;
  }

  OmpiRankRules ReadRanks() {
    const Token ranks = tokens_.Take("a number of ranks", std::numeric_limits<int>::max());
    OmpiRankRules entry{.ranks = static_cast<std::int64_t>(ranks.value), .line = ranks.at.line};
    const auto count = tokens_.Take("how many message rules follow").value;
    for (std::uint64_t i = 0; i < count; ++i) entry.rules.push_back(ReadMessageRule());
    return entry;
  }

  OmpiMessageRule ReadMessageRule() {
    const std::string expected =
        fmt::format("a message rule: bytes, algorithm, fan-in/out, segment bytes{}",
                    fields_ == 5 ? ", most requests" : "");
    const std::vector<Token> line = tokens_.TakeLine(expected);
    if (fields_ == 0 && line.size() == 5) fields_ = 5;
    if (fields_ == 0) fields_ = 4;
    if (line.size() != fields_) {
      FailInput(file_, line[std::min(line.size() - 1, fields_)].at,
                fmt::format("{} numbers: expected {}, {} numbers as in the first one", line.size(),
                            expected, fields_));
    }
    for (const std::size_t i : {1U, 2U, 4U}) {
      if (i < line.size() && line[i].value > std::numeric_limits<int>::max()) {
        FailInput(file_, line[i].at,
                  fmt::format("\"{}\": expected a number below 2^31", line[i].value));
      }
    }
    OmpiMessageRule rule{.min_bytes = line[0].value,
                         .algorithm = static_cast<int>(line[1].value),
                         .faninout = static_cast<int>(line[2].value),
                         .segment_bytes = line[3].value,
                         .line = line[0].at.line};
    if (fields_ == 5) rule.max_requests = static_cast<int>(line[4].value);
    return rule;
  }

  std::string_view file_;
  Tokens tokens_;
  std::size_t fields_ = 0;  // of a message rule; 0: not known yet
};

void CheckRanks(std::string_view file, const OmpiRankRules& entry) {
  const auto fail = [&](std::size_t line, const std::string& text) {
    FailInput(file, {.line = line, .column = 1}, text);
  };
  if (entry.rules.empty()) fail(entry.line, "no message rule: expected one of 0 bytes");
  if (entry.rules[0].min_bytes != 0) {
    fail(entry.rules[0].line, fmt::format("\"{}\": expected 0 as the first message size; Open MPI "
                                          "ignores the file otherwise",
                                          entry.rules[0].min_bytes));
  }
  for (std::size_t i = 0; i < entry.rules.size(); ++i) {
    const OmpiMessageRule& rule = entry.rules[i];
    if (rule.max_requests) fail(rule.line, "five numbers: expected 4, as Open MPI 4.1 reads");
    if (i > 0 && rule.min_bytes <= entry.rules[i - 1].min_bytes) {
      fail(rule.line, fmt::format("\"{}\": expected a message size above {}, which is before it",
                                  rule.min_bytes, entry.rules[i - 1].min_bytes));
    }
  }
}

}  // namespace

std::optional<int> OmpiIdOf(Collective collective) {
  const std::string_view name = MpiNameOf(collective);
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (name.empty() || found == kNames.end()) return std::nullopt;
  return static_cast<int>(found - kNames.begin());
}

OmpiRules ReadOmpiRules(std::string_view file, std::string_view text) {
  return Reader(file, text).Read();
}

void CheckOmpiRules(std::string_view file, const OmpiRules& rules) {
  std::array<bool, kCollectives> seen{};
  for (const OmpiCollectiveRules& collective : rules) {
    const auto fail = [&](std::size_t line, const std::string& text) {
      FailInput(file, {.line = line, .column = 1}, text);
    };
    if (std::exchange(seen[collective.id], true)) {
      fail(collective.line, fmt::format("\"{}\": expected each collective once", collective.id));
    }
    const auto& ranks = collective.ranks;
    if (ranks.empty() || ranks[0].ranks != 0 || ranks[0].rules.size() != 1 ||
        ranks[0].rules[0].algorithm != 0) {
      fail(collective.line,
           "no guard: expected a first entry of 0 ranks with algorithm 0; the first entry is used "
           "for fewer ranks, too");
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      CheckRanks(file, ranks[i]);
      if (i > 0 && ranks[i].ranks <= ranks[i - 1].ranks) {
        fail(ranks[i].line, fmt::format("\"{}\": expected more ranks than {}, which are before it",
                                        ranks[i].ranks, ranks[i - 1].ranks));
      }
    }
  }
}

std::string FormatOmpiRules(const OmpiRules& rules) {
  std::string text = fmt::format("{} # collectives\n", rules.size());
  for (const OmpiCollectiveRules& collective : rules) {
    text += fmt::format("{} # {}\n{} # numbers of ranks\n", collective.id, kNames[collective.id],
                        collective.ranks.size());
    for (const OmpiRankRules& entry : collective.ranks) {
      text += fmt::format("{} {} # ranks, message rules\n", entry.ranks, entry.rules.size());
      for (const OmpiMessageRule& rule : entry.rules) {
        text += fmt::format("{} {} {} {}\n", rule.min_bytes, rule.algorithm, rule.faninout,
                            rule.segment_bytes);
      }
    }
  }
  return text;
}

const OmpiMessageRule* FindOmpiRule(const OmpiRules& rules, int id, std::int64_t ranks,
                                    std::uint64_t bytes) {
  const auto collective =
      std::find_if(rules.begin(), rules.end(), [&](const auto& entry) { return entry.id == id; });
  if (collective == rules.end() || collective->ranks.empty()) return nullptr;
  const OmpiRankRules* entry = &collective->ranks[0];
  for (const OmpiRankRules& next : collective->ranks) {
    if (next.ranks <= ranks) entry = &next;
  }
  if (entry->rules.empty()) return nullptr;
  const OmpiMessageRule* rule = &entry->rules[0];
  for (const OmpiMessageRule& next : entry->rules) {
    if (next.min_bytes <= bytes) rule = &next;
  }
  return rule;
}

}  // namespace hockney
