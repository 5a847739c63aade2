#include "bench/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "collectives/verify.h"

namespace hockney {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

// Rows that may be compared, in all launches.
using CellKey = std::tuple<Collective, std::int64_t, bool, bool, std::uint64_t>;

CellKey KeyOf(const SweepRow& row) {
  return {row.collective, row.ranks, row.oversubscribed.value_or(false),
          row.in_place.value_or(false), row.size_bytes};
}

// A competitor of a cell: everything that tells its rows apart from the cell's others.
std::string ChoiceOf(const SweepRow& row) {
  if (row.implementation == "mpi") return "mpi";
  const std::size_t store = row.parameters.find("store=");
  return fmt::format("{} {} x{} {}", row.algorithm, row.protocol, row.lanes.value_or(1),
                     store == std::string::npos ? "" : row.parameters.substr(store + 6));
}

struct CellRows {
  std::map<std::string, std::map<std::int64_t, const SweepRow*>> by_choice;  // then launch
};

bool IsJudged(const SweepRow& row) {
  return row.status == Status::kOk && row.time_us_median && row.mode == "isolated" &&
         row.buffers == "refreshed" && row.dtype == DataType::kFloat32 &&
         row.op.value_or(ReduceOp::kSum) == ReduceOp::kSum;
}

double MedianTime(const std::map<std::int64_t, const SweepRow*>& launches, bool even) {
  std::vector<double> times;
  for (const auto& [launch, row] : launches) {
    if ((launch % 2 == 0) == even) times.push_back(*row->time_us_median);
  }
  return times.empty() ? std::numeric_limits<double>::infinity() : Median(times);
}

// Our row with the best median over the even launches.
std::string ChooseBest(const CellRows& cell) {
  std::string best;
  double best_time = std::numeric_limits<double>::infinity();
  for (const auto& [choice, launches] : cell.by_choice) {
    if (choice == "mpi" || MedianTime(launches, true) >= best_time) continue;
    best_time = MedianTime(launches, true);
    best = choice;
  }
  return best;
}

struct Bar {
  double value = 0;
  BarRule rule = BarRule::kFigureAtLeast;
};

// The bar on our speed-up over MPI for a cell, if it has one.
std::optional<Bar> SpeedBar(const CellKey& key) {
  const auto& [collective, ranks, oversubscribed, in_place, size] = key;
  if (oversubscribed) {
    if (collective != Collective::kAllReduce || in_place) return std::nullopt;
    return Bar{1.0, BarRule::kIntervalReaches};
  }
  if (ranks != 2) return std::nullopt;
  switch (collective) {
    case Collective::kAllReduce:
      if (in_place) return std::nullopt;
      if (size == 8) return Bar{1.0, BarRule::kIntervalReaches};
      if (size >= 8 * kMiB) return Bar{3.0};
      if (size >= 8 * kKiB && size <= 2 * kMiB) return Bar{2.4};
      return std::nullopt;
    case Collective::kBroadcast:
      // MPI has no other than in place; apart, a copy at the root is added to both sides.
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kReduce:
      if (in_place != (collective == Collective::kBroadcast)) return std::nullopt;
      return Bar{size >= 8 * kKiB ? 1.5 : 0.9};
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string Describe(const CellKey& key) {
  const auto& [collective, ranks, oversubscribed, in_place, size] = key;
  return fmt::format("{}, {} ranks{}, {} bytes{}", Name(collective), ranks,
                     oversubscribed ? " oversubscribed" : "", size, in_place ? ", in place" : "");
}

// The speed-up of `ours` over MPI on the odd launches that have both.
BarResult JudgeSpeed(const CellKey& key, const CellRows& cell, const std::string& ours, Bar bar) {
  std::vector<LaunchSamples> launches;
  std::vector<std::pair<double, double>> medians;
  const auto& mpi = cell.by_choice.at("mpi");
  for (const auto& [launch, row] : cell.by_choice.at(ours)) {
    const auto beside = mpi.find(launch);
    if (launch % 2 == 0 || beside == mpi.end()) continue;
    medians.emplace_back(*beside->second->time_us_median, *row->time_us_median);
  }
  launches.reserve(medians.size());
  for (const auto& [a, b] : medians) launches.push_back({{&a, 1}, {&b, 1}});
  BarResult result{.what = Describe(key) + ": speed over MPI",
                   .choice = ours,
                   .bar = bar.value,
                   .rule = bar.rule,
                   .launches = launches.size()};
  if (launches.empty()) return result;
  const Ratio ratio = RatioOfMedians(launches);
  result.value = ratio.value;
  result.interval = ratio.interval;
  return result;
}

BarResult JudgeRoofline(const CellKey& key, const CellRows& cell, const std::string& ours) {
  static constexpr double kOne = 1;
  std::vector<double> fractions;
  for (const auto& [launch, row] : cell.by_choice.at(ours)) {
    if (launch % 2 == 1 && row->bound_fraction) fractions.push_back(*row->bound_fraction);
  }
  BarResult result{.what = Describe(key) + ": share of the memory roofline",
                   .choice = ours,
                   .bar = 0.85,
                   .launches = fractions.size()};
  if (fractions.empty()) return result;
  std::vector<LaunchSamples> launches;
  launches.reserve(fractions.size());
  for (const double& fraction : fractions) launches.push_back({{&fraction, 1}, {&kOne, 1}});
  const Ratio ratio = RatioOfMedians(launches);
  result.value = ratio.value;
  result.interval = ratio.interval;
  return result;
}

}  // namespace

bool BarResult::met() const {
  switch (rule) {
    case BarRule::kFigureAtLeast:
      return value >= bar;
    case BarRule::kIntervalReaches:
      return std::max(value, interval.high) >= bar;
    case BarRule::kFigureAtMost:
      return value <= bar;
  }
  return false;
}

std::vector<BarResult> JudgeHostBars(std::span<const SweepRow> rows, std::size_t least_launches,
                                     std::vector<std::string>* notes) {
  std::map<CellKey, CellRows> cells;
  for (const SweepRow& row : rows) {
    if (IsJudged(row)) cells[KeyOf(row)].by_choice[ChoiceOf(row)][row.launch] = &row;
  }
  std::vector<BarResult> results;
  for (const auto& [key, cell] : cells) {
    const std::optional<Bar> bar = SpeedBar(key);
    const std::string ours = ChooseBest(cell);
    if (!bar || ours.empty() || !cell.by_choice.contains("mpi")) continue;
    const BarResult speed = JudgeSpeed(key, cell, ours, *bar);
    if (speed.launches < least_launches) {
      if (notes != nullptr) {
        notes->push_back(fmt::format("{}: {} launches to report, expected {}", speed.what,
                                     speed.launches, least_launches));
      }
      continue;
    }
    results.push_back(speed);
    const BarResult roofline = JudgeRoofline(key, cell, ours);
    if (std::get<Collective>(key) == Collective::kAllReduce &&
        roofline.launches >= least_launches) {
      results.push_back(roofline);
    }
  }
  return results;
}

BarResult JudgeVerifier(int repeats) {
  constexpr int kRanks = 128;
  BarResult result{.what = "proof of the slowest row at 128 ranks, seconds",
                   .bar = 2,
                   .rule = BarRule::kFigureAtMost};
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      if (protocol == Protocol::kLl && !row.has_ll) continue;
      Parameters parameters;
      parameters.protocol = protocol;
      const Shape shape{row.collective, kRanks, 0};
      const Cut cut = row.build(shape, 0, parameters).cut;
      const Layout layout(EvenCounts(shape, std::uint64_t{32} * cut.lanes * cut.chunks),
                          DataType::kFloat32, cut);
      std::vector<double> seconds;
      for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const Verdict verdict = VerifyAlgorithm(row, layout, parameters, {2, 8});
        if (verdict.fault) throw std::logic_error(verdict.fault->text);
        seconds.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      if (Median(seconds) <= result.value) continue;
      result.value = Median(seconds);
      result.interval = MedianInterval(seconds);
      result.choice = fmt::format("{} {}{}", Name(row.collective), row.name,
                                  protocol == Protocol::kLl ? " ll" : "");
      result.launches = seconds.size();
    }
  }
  return result;
}

}  // namespace hockney
