#include "tuner/select/measured.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "tuner/statistics.h"

namespace hockney {
namespace {

auto CallOf(const TuningTable& t) {
  return std::tie(t.collective, t.dtype, t.op, t.memory_kind, t.in_place, t.mode);
}

auto KeyOf(const TuningTable& t) { return std::tuple_cat(CallOf(t), std::tie(t.ranks, t.nodes)); }

TuningTable TableOf(const SweepRow& row) {
  return {.collective = row.collective,
          .ranks = row.ranks,
          .nodes = row.nodes.value_or(1),
          .dtype = row.dtype ? std::string(Name(*row.dtype)) : "",
          .op = row.op ? std::string(Name(*row.op)) : "",
          .memory_kind = row.memory_kind,
          .in_place = row.in_place.value_or(false),
          .mode = row.mode};
}

// Times of one choice in one launch, and how many rows they are the mean of.
struct Sum {
  LaunchTime time = {};
  int rows = 0;
};

void Add(const SweepRow& row, Sum& sum) {
  ++sum.rows;
  sum.time.us += (*row.time_us_median - sum.time.us) / sum.rows;
  LaunchTime& time = sum.time;
  if (sum.rows == 1) {
    time.low_us = row.time_us_ci_low;
    time.high_us = row.time_us_ci_high;
  } else if (time.low_us && time.high_us && row.time_us_ci_low && row.time_us_ci_high) {
    time.low_us = std::min(*time.low_us, *row.time_us_ci_low);
    time.high_us = std::max(*time.high_us, *row.time_us_ci_high);
  } else {
    time.low_us.reset();
    time.high_us.reset();
  }
}

struct LessTable {
  bool operator()(const TuningTable& a, const TuningTable& b) const { return KeyOf(a) < KeyOf(b); }
};

bool IsRead(const SweepRow& row, std::string_view implementation) {
  return CountsForModel(row) && !row.graph &&
         (implementation.empty() || row.implementation == implementation);
}

// The choices of each table of which a launch has rows with unlike slices at one size.
std::map<TuningTable, std::set<Choice>, LessTable> FindSliced(std::span<const RunRecords> runs,
                                                              std::string_view implementation) {
  std::map<TuningTable, std::set<Choice>, LessTable> sliced;
  for (const RunRecords& run : runs) {
    std::map<TuningTable, std::map<std::tuple<Choice, std::int64_t, std::uint64_t>, std::string>,
             LessTable>
        slices;
    for (const SweepRow& row : run.sweep) {
      if (!IsRead(row, implementation)) continue;
      const std::string mine = FindParameter(row, "slices");
      const Choice choice = ChoiceOf(row);
      const auto [place, is_new] =
          slices[TableOf(row)].try_emplace({choice, row.launch, row.size_bytes}, mine);
      if (!is_new && place->second != mine) sliced[TableOf(row)].insert(choice);
    }
  }
  return sliced;
}

}  // namespace

std::vector<MeasuredTable> MeasuredTables(std::span<const RunRecords> runs,
                                          std::string_view implementation) {
  using Sums = std::map<std::uint64_t, std::map<Choice, std::map<LaunchId, Sum>>>;
  std::map<TuningTable, Sums, LessTable> found;
  auto sliced = FindSliced(runs, implementation);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const SweepRow& row : runs[run].sweep) {
      if (!IsRead(row, implementation)) continue;
      const TuningTable key = TableOf(row);
      Choice choice = ChoiceOf(row);
      if (sliced[key].contains(choice)) {
        choice = WithSlices(std::move(choice), FindParameter(row, "slices"));
      }
      const LaunchId launch{static_cast<std::int64_t>(run), row.launch};
      Add(row, found[key][row.size_bytes][choice][launch]);
    }
  }
  std::vector<MeasuredTable> tables;
  tables.reserve(found.size());
  for (const auto& [key, sums] : found) {
    MeasuredTable& table = tables.emplace_back(MeasuredTable{.key = key});
    for (const auto& [bytes, choices] : sums) {
      for (const auto& [choice, launches] : choices) {
        for (const auto& [launch, sum] : launches) {
          table.cells[bytes][choice][launch] = sum.time;
        }
      }
    }
  }
  return tables;
}

MeasuredTable Restrict(const MeasuredTable& table,
                       const std::function<bool(std::uint64_t bytes)>& takes_size,
                       const std::function<bool(LaunchId)>& takes_launch) {
  MeasuredTable rest{.key = table.key};
  for (const auto& [bytes, cell] : table.cells) {
    if (!takes_size(bytes)) continue;
    for (const auto& [choice, launches] : cell) {
      for (const auto& [launch, time] : launches) {
        if (takes_launch(launch)) rest.cells[bytes][choice][launch] = time;
      }
    }
  }
  return rest;
}

std::map<Choice, double> LevelMedians(const CellTimes& cell) {
  std::map<Choice, double> medians;
  for (const auto& [choice, launches] : cell) {
    std::vector<double> times;
    times.reserve(launches.size());
    for (const auto& [launch, time] : launches) times.push_back(time.us);
    medians[choice] = Median(times);
  }
  std::map<LaunchId, std::vector<double>> slower;  // than the median, by choice
  for (const auto& [choice, launches] : cell) {
    for (const auto& [launch, time] : launches) slower[launch].push_back(time.us / medians[choice]);
  }
  std::map<Choice, double> level;
  for (const auto& [choice, launches] : cell) {
    std::vector<double> times;
    times.reserve(launches.size());
    for (const auto& [launch, time] : launches) times.push_back(time.us / Median(slower[launch]));
    level[choice] = Median(times);
  }
  return level;
}

bool SameCall(const TuningTable& a, const TuningTable& b) { return CallOf(a) == CallOf(b); }

}  // namespace hockney
