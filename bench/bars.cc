#include "bench/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/choice.h"
#include "collectives/verify.h"

namespace hockney {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr double kRooflineBar = 0.85;

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

BarResult Judge(std::string what, const std::string& choice, const Figure& figure, Bar bar) {
  return {.what = std::move(what),
          .choice = choice,
          .value = figure.value,
          .interval = figure.interval,
          .bar = bar.value,
          .rule = bar.rule,
          .launches = figure.launches};
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
  std::vector<BarResult> results;
  for (const auto& [key, cell] : GroupCells(rows)) {
    const std::optional<Bar> bar = SpeedBar(key);
    const std::string ours = ChooseBest(cell);
    if (!bar || ours.empty() || !cell.by_choice.contains("mpi")) continue;
    const BarResult speed =
        Judge(Describe(key) + ": speed over MPI", ours, SpeedOver(cell, ours), *bar);
    if (speed.launches < least_launches) {
      if (notes != nullptr) {
        notes->push_back(fmt::format("{}: {} launches to report, expected {}", speed.what,
                                     speed.launches, least_launches));
      }
      continue;
    }
    results.push_back(speed);
    const BarResult roofline = Judge(Describe(key) + ": share of the memory roofline", ours,
                                     ShareOfRoofline(cell, ours), Bar{kRooflineBar});
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
