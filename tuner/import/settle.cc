#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "topology/input_file.h"
#include "tuner/bandwidth.h"
#include "tuner/import/imported_table.h"

namespace hockney {
namespace {

constexpr int kManyRanks = 1 << 30;

// Whole numbers from `low` to `high`; none if low > high.
struct Range {
  int low = 1;
  int high = kManyRanks;
  bool Holds(int n) const { return low <= n && n <= high; }
  bool empty() const { return low > high; }
  bool single() const { return low == high; }
};

// What the numbers of a table tell about its ranks.
struct Evidence {
  double least_factor = 0;  // busbw over algbw lies between these, by every row
  double most_factor = std::numeric_limits<double>::infinity();
  bool has_factor = false;
  // size / (count * element), where it is one whole number for all rows.
  std::optional<int> blocks = {};
};

std::optional<int> FindBlocks(const ImportedTable& table) {
  std::optional<int> found;
  for (const ImportedRow& each : table.rows) {
    const SweepRow& row = each.row;
    if (row.size_bytes == 0 || !row.count || *row.count == 0 || !row.dtype) continue;
    const std::uint64_t elements = row.size_bytes / ElementBytes(*row.dtype);
    const std::uint64_t blocks = elements / *row.count;
    const bool whole = blocks >= 1 && blocks <= kManyRanks &&
                       blocks * *row.count * ElementBytes(*row.dtype) == row.size_bytes;
    if (!whole || (found && *found != static_cast<int>(blocks))) return std::nullopt;
    found = static_cast<int>(blocks);
  }
  return found;
}

Evidence Gather(const ImportedTable& table) {
  Evidence evidence{.blocks = FindBlocks(table)};
  for (const ImportedRow& row : table.rows) {
    if (!row.algbw || !row.busbw || !(row.algbw->value > row.algbw->half_unit)) continue;
    evidence.has_factor = true;
    const double least =
        (row.busbw->value - row.busbw->half_unit) / (row.algbw->value + row.algbw->half_unit);
    const double most =
        (row.busbw->value + row.busbw->half_unit) / (row.algbw->value - row.algbw->half_unit);
    evidence.least_factor = std::max(evidence.least_factor, least);
    evidence.most_factor = std::min(evidence.most_factor, most);
  }
  return evidence;
}

// The ranks whose factor is `scale` (n-1)/n, as whole numbers between two factors.
Range RanksOf(double scale, const Evidence& evidence) {
  constexpr double kSlack = 1e-9;
  const auto ranks = [scale](double factor) {
    return factor >= scale ? std::numeric_limits<double>::infinity() : scale / (scale - factor);
  };
  const double low = ranks(evidence.least_factor);
  const double high = ranks(evidence.most_factor);
  if (evidence.least_factor > evidence.most_factor || low > kManyRanks) return {1, 0};
  return {std::max(1, static_cast<int>(std::ceil(low - kSlack))),
          high > kManyRanks ? kManyRanks : static_cast<int>(std::floor(high + kSlack))};
}

// The ranks with which a table of this collective would look like that.
Range PossibleRanks(Collective collective, const Evidence& evidence) {
  Range range;
  const auto two = BusFactor(collective, 2);
  if (evidence.has_factor && two) {
    if (BusFactor(collective, 3) == two) {  // the same for all
      if (*two < evidence.least_factor || *two > evidence.most_factor) return {1, 0};
    } else {
      range = RanksOf(2 * *two, evidence);
    }
  }
  if (!evidence.blocks || collective == Collective::kAllToAllV) return range;
  const bool counts_blocks = SizeBytes(collective, 1, DataType::kInt8, 2) == 2;
  const int blocks = *evidence.blocks;
  if (!counts_blocks) return blocks == 1 ? range : Range{1, 0};
  return range.Holds(blocks) ? Range{blocks, blocks} : Range{1, 0};
}

template <class Keep>
void KeepIfAny(std::vector<Collective>& all, const Keep& keep) {
  std::vector<Collective> kept;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept), keep);
  if (!kept.empty()) all = std::move(kept);
}

bool Holds(const std::vector<Collective>& all, Collective one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// The collectives whose names stand in the file's name, long ones first: "all_reduce" is no
// "reduce".
std::vector<Collective> NamedBy(const std::string& path) {
  const auto plain = [](std::string_view text) {
    std::string result;
    for (const char c : text) {
      if (c != '_' && c != '-')
        result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return result;
  };
  std::string name = plain(std::string_view(path).substr(path.rfind('/') + 1));
  std::vector<std::pair<std::string, Collective>> names;
  names.reserve(kAllCollectives.size() + 1);
  names.emplace_back("bcast", Collective::kBroadcast);
  for (const Collective each : kAllCollectives) names.emplace_back(plain(Name(each)), each);
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::vector<Collective> found;
  for (const auto& [text, collective] : names) {
    for (std::size_t at = 0; (at = name.find(text)) != name.npos;) {
      name.replace(at, text.size(), "/");
      found.push_back(collective);
    }
  }
  return found;
}

std::string NamesOf(const std::vector<Collective>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " or " : ", ";
    text += Name(all[i]);
  }
  return text;
}

[[noreturn]] void Fail(const ImportedTable& table, std::string_view message) {
  FailInput(table.file, {.line = table.line}, message);
}

void Note(ImportedTable& table, std::string_view text) {
  table.notes.push_back(fmt::format("{}:{}: {}", table.file, table.line, text));
}

// Leaves one collective.
void SettleCollective(ImportedTable& table, const Evidence& evidence,
                      const ImportAnswers& answers) {
  std::vector<Collective>& all = table.collectives;
  const std::vector<Collective> said = all;
  KeepIfAny(all, [&](Collective c) { return !PossibleRanks(c, evidence).empty(); });
  const auto ranks = table.ranks ? table.ranks : answers.ranks;
  if (ranks) KeepIfAny(all, [&](auto c) { return PossibleRanks(c, evidence).Holds(*ranks); });
  if (all.size() > 1) KeepIfAny(all, [&](Collective c) { return Holds(table.hints, c); });
  if (answers.collective && !Holds(all, *answers.collective)) {
    if (said.size() > 1) {
      Fail(table, fmt::format("the table can be one of {}: expected --collective to say which, "
                              "found {}",
                              NamesOf(all), Name(*answers.collective)));
    }
    Note(table, fmt::format("--collective {} is not used: the log says {}",
                            Name(*answers.collective), Name(said[0])));
  } else if (answers.collective) {
    all = {*answers.collective};
  }
  if (all.size() == 1) return;
  const std::vector<Collective> open = all;
  const std::vector<Collective> named = NamedBy(table.file);
  KeepIfAny(all, [&](Collective c) { return Holds(named, c); });
  if (all.size() > 1) {
    Fail(table, fmt::format("the log does not say which collective this is; the table can be one "
                            "of {}: expected --collective NAME",
                            NamesOf(all)));
  }
  Note(table, fmt::format("the table can be one of {}; {} by the file's name", NamesOf(open),
                          Name(all[0])));
}

void SettleRanks(ImportedTable& table, const Evidence& evidence, const ImportAnswers& answers) {
  const Collective collective = table.collectives[0];
  const Range range = PossibleRanks(collective, evidence);
  const std::string numbers = evidence.blocks.value_or(1) > 1 ? "size and count" : "busbw/algbw";
  if (table.ranks && !range.Holds(*table.ranks) && range.single()) {
    Note(table, fmt::format("{} ranks by {}, which are not those of {} ({})", range.low, numbers,
                            table.ranks_from, *table.ranks));
    table.ranks.reset();
  } else if (table.ranks && !range.Holds(*table.ranks)) {
    Note(table,
         fmt::format("busbw and algbw do not fit {} of {} ranks", Name(collective), *table.ranks));
  }
  if (!table.ranks && range.single()) {
    table.ranks = range.low;
    table.ranks_from = numbers;
  }
  if (table.ranks) {
    if (answers.ranks.value_or(*table.ranks) != *table.ranks) {
      Note(table, fmt::format("--ranks {} is not used: the log says {} ({})", *answers.ranks,
                              *table.ranks, table.ranks_from));
    }
    return;
  }
  if (!answers.ranks) Fail(table, "the log does not say how many ranks ran: expected --ranks N");
  if (!range.empty() && !range.Holds(*answers.ranks)) {
    Fail(table, fmt::format("--ranks {}: expected {} to {}, by {}", *answers.ranks, range.low,
                            range.high, numbers));
  }
  table.ranks = answers.ranks;
  table.ranks_from = "--ranks";
}

}  // namespace

void Settle(ImportedTable& table, const ImportAnswers& answers) {
  const Evidence evidence = Gather(table);
  if (table.collectives.empty()) {
    if (!answers.collective) {
      Fail(table, "the log does not say which collective this is: expected --collective NAME");
    }
    table.collectives = {*answers.collective};
  }
  SettleCollective(table, evidence, answers);
  SettleRanks(table, evidence, answers);
}

}  // namespace hockney
