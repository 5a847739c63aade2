#include <fmt/format.h>

#include <algorithm>

#include "bench/bars.h"
#include "bench/choice.h"

namespace hockney {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::string_view kHierarchy = "hierarchical";

// The bars of one run folder.
class NetworkBars {
 public:
  NetworkBars(const std::string& run, std::size_t least_launches, std::vector<std::string>* notes)
      : run_(run), least_launches_(least_launches), notes_(notes) {}

  std::vector<BarResult> Judge(std::span<const SweepRow> rows) {
    for (const std::int64_t nodes : {2, 4}) {
      for (const char* mode : {"isolated", "streamed"}) {
        for (const auto& [key, cell] : GroupCells(rows, {.mode = mode, .nodes = nodes})) {
          const auto& [collective, ranks, oversubscribed, in_place, size] = key;
          if (collective != Collective::kAllReduce || in_place) continue;
          where_ = fmt::format("{}: all_reduce, {} ranks on {} hosts, {} bytes, {}", run_, ranks,
                               nodes, size, mode);
          JudgeCell(cell, nodes, ranks, size, std::string_view(mode) == "streamed");
        }
      }
    }
    return std::move(results_);
  }

 private:
  void JudgeCell(const CellRows& cell, std::int64_t nodes, std::int64_t ranks, std::uint64_t size,
                 bool streamed) {
    if (nodes == 4 && size >= kMiB) return JudgeRacks(cell);
    if (nodes == 2 && ranks == 2 && !streamed && size <= 8 * kKiB) {
      const std::string ours = ChooseBest(cell);
      if (!ours.empty()) {
        Add("speed over MPI", ours, SpeedOver(cell, ours), {1 / 1.1, BarRule::kFigureAtLeast});
      }
    }
    if (nodes != 2 || !streamed || size < kMiB) return;
    const std::string ours = ChooseBest(cell, ranks == 2 ? "" : kHierarchy);
    if (ours.empty()) return;
    Add("share of the links' goodput", ours, ShareOfRoofline(cell, ours),
        {ranks == 2 ? 0.97 : 0.95, BarRule::kFigureAtLeast});
    Add("speed over MPI", ours, SpeedOver(cell, ours), {1, BarRule::kIntervalReaches});
    const std::string ring = ChooseBest(cell, "ring");
    if (ranks == 2 || ring.empty()) return;
    Add("speed over our flat ring", ours, SpeedOver(cell, ours, ring),
        {0.95, BarRule::kFigureAtLeast});
  }

  // A hierarchy that knows the racks against flat algorithms.
  void JudgeRacks(const CellRows& cell) {
    const std::string ours = ChooseBest(cell, kHierarchy);
    if (ours.empty()) return;
    for (const char* flat : {"ring", "double_binary_tree"}) {
      const std::string other = ChooseBest(cell, flat);
      if (other.empty()) continue;
      Add(fmt::format("speed over our flat {}", flat), ours, SpeedOver(cell, ours, other),
          {1, BarRule::kFigureAtLeast});
    }
  }

  struct Limit {
    double bar = 0;
    BarRule rule = BarRule::kFigureAtLeast;
  };
  void Add(const std::string& what, const std::string& choice, const Figure& figure, Limit limit) {
    BarResult result{.what = fmt::format("{}: {}", where_, what),
                     .choice = choice,
                     .value = figure.value,
                     .interval = figure.interval,
                     .bar = limit.bar,
                     .rule = limit.rule,
                     .launches = figure.launches};
    if (figure.launches >= least_launches_) {
      results_.push_back(std::move(result));
    } else if (notes_ != nullptr) {
      notes_->push_back(fmt::format("{}: {} launches to report, expected {}", result.what,
                                    figure.launches, least_launches_));
    }
  }

  std::string run_;
  std::size_t least_launches_;
  std::vector<std::string>* notes_;
  std::string where_;
  std::vector<BarResult> results_;
};

}  // namespace

std::vector<BarResult> JudgeNetworkBars(const std::string& run, std::span<const SweepRow> rows,
                                        std::size_t least_launches,
                                        std::vector<std::string>* notes) {
  return NetworkBars(run, least_launches, notes).Judge(rows);
}

}  // namespace hockney
