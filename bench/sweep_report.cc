#include "bench/sweep_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "bench/groups/rank_groups.h"
#include "bench/sizes.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

bool IsMeasured(const SweepRow& row) {
  return row.status == Status::kOk && row.time_us_median.has_value();
}

// What rows must share to be compared.
auto CellOf(const SweepRow& row) {
  return std::make_tuple(row.collective, row.dtype, row.op, row.root, row.in_place, row.ranks,
                         row.page_kib, row.memory_kind, row.graph, row.size_bytes, row.count,
                         row.groups);
}

// Of the first one, where a run has several.
std::optional<double> BaselineTime(std::span<const SweepRow> rows, const SweepRow& like) {
  for (const SweepRow& row : rows) {
    if (row.implementation == "mpi" && row.algorithm != "default") continue;
    if (row.implementation == BaselineOf(row) && IsMeasured(row) && CellOf(row) == CellOf(like)) {
      return row.time_us_median;
    }
  }
  return std::nullopt;
}

std::string FormatOr(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

// Other rows of the cell that may be as fast: their interval, where they have one, reaches the best
// row's.
int CountTies(std::span<const SweepRow> rows, const SweepRow& best) {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](const SweepRow& row) {
    if (&row == &best || !IsMeasured(row) || CellOf(row) != CellOf(best)) return false;
    return row.time_us_ci_low.value_or(*row.time_us_median) <=
           best.time_us_ci_high.value_or(*best.time_us_median);
  }));
}

// "broadcast", or "broadcast r2" where the root is rank 2.
std::string NameWithRoot(const SweepRow& row) {
  const std::string name(Name(row.collective));
  return row.root.value_or(0) == 0 ? name : fmt::format("{} r{}", name, *row.root);
}

}  // namespace

std::string_view BaselineOf(const SweepRow& row) {
  return row.memory_kind == "cuda" ? "nccl" : "mpi";
}

std::string VersusBaseline(std::span<const SweepRow> rows) {
  return fmt::format("vs {}", rows.empty() ? "mpi" : BaselineOf(rows[0]));
}

std::string DescribeChoice(const SweepRow& row) {
  if (row.implementation == "mpi") {
    return row.algorithm == "default" ? "mpi" : "mpi " + row.algorithm;
  }
  std::string text = AlgorithmOf(row);
  if (row.implementation == "nccl") {
    text = "nccl " + FindParameter(row, "library");
    const std::string path = FindParameter(row, "path");  // versions may be the same
    if (!path.empty()) text += " of " + path;
    if (row.algorithm != "default") text += " " + row.algorithm;
  }
  if (!row.protocol.empty() && row.protocol != "simple") text += " " + row.protocol;
  if (FindParameter(row, "store") == "non_temporal") text += " nt";
  if (row.lanes.value_or(1) > 1) text += fmt::format(" x{}", *row.lanes);
  if (row.graph) text += " graph";
  return text;
}

void PrintRows(std::span<const SweepRow> rows, bool with_head) {
  if (with_head && !rows.empty()) {
    fmt::print("{:<15} {:>6} {:>5} {:<26} {:>10} {:>19} {:>8} {:>7} {:>6}  {}\n", "collective",
               "size", "place", "implementation", "time_us", "95% interval", "busbw",
               VersusBaseline(rows), "bound", "status");
  }
  for (const SweepRow& row : rows) {
    const std::optional<double> baseline = BaselineTime(rows, row);
    std::optional<double> gain;
    if (baseline && row.time_us_median) gain = *baseline / *row.time_us_median;
    std::optional<double> percent;
    if (row.bound_fraction) percent = 100 * *row.bound_fraction;
    std::string status = std::string(Name(row.status));
    if (!row.groups.empty()) status = fmt::format("group {}: {}", GroupNumber(row.groups), status);
    if (row.converged == false) status += " (not converged)";
    if (!row.reason.empty()) status += ": " + row.reason;
    std::string interval = "-";
    if (row.time_us_ci_low) {
      interval = fmt::format("{:.2f}..{:.2f}", *row.time_us_ci_low, *row.time_us_ci_high);
    }
    fmt::print("{:<15} {:>6} {:>5} {:<26} {:>10} {:>19} {:>8} {:>7} {:>6}  {}\n", NameWithRoot(row),
               FormatSize(row.size_bytes), row.in_place.value_or(false) ? "in" : "out",
               DescribeChoice(row), FormatOr(row.time_us_median, "{:.2f}"), interval,
               FormatOr(row.busbw_GBps, "{:.3f}"), FormatOr(gain, "{:.2f}x"),
               FormatOr(percent, "{:.0f}%"), status);
  }
  std::fflush(stdout);
}

bool AnyMeasured(std::span<const SweepRow> rows) {
  return std::any_of(rows.begin(), rows.end(), IsMeasured);
}

void PrintLegend(std::span<const SweepRow> rows, const SweepOptions& options) {
  const auto any = [&](auto test) { return std::any_of(rows.begin(), rows.end(), test); };
  fmt::print(
      "\nll: packets with flags; nt: non-temporal stores; xN: data lanes; not converged: the "
      "interval is wider than 2 % "
      "of the median, a longer --row-budget narrows it\n"
      "size: nccl-tests' column, which is all ranks' blocks together for reduce_scatter, "
      "all_gather, all_to_all, gather and scatter\n"
      "busbw: size / time, times what a flat ring moves through each link; never capped, so "
      "offload may lift it above the link's rate\n");
  if (any([](const SweepRow& row) { return row.root.value_or(0) != 0; })) {
    fmt::print("r1: the root is rank 1; 0 where nothing is said\n");
  }
  if (any([](const SweepRow& row) { return row.ranks == 1; })) {
    fmt::print(
        "warning: one rank sends nothing, so there is no busbw, and an in-place call may do "
        "nothing at all: its size / time is no bandwidth\n");
  }
  if (options.warmups == 0U) {
    fmt::print("warning: no warm-up (-w 0): the first calls are among the samples\n");
  }
  if (any([](const SweepRow& row) { return row.bound_fraction.has_value(); })) {
    fmt::print(
        "bound: share of what memory allows, where the buffers exceed twice the last-level "
        "cache, or of what the links between hosts are limited to\n");
  }
  const bool on_gpus = options.memory == MemoryKind::kCuda;
  if (on_gpus) {
    fmt::print(
        "times by the GPU, the longest of any rank; streamed: by the host around calls that follow "
        "each other; vs nccl: the first of its rows where a size has several\n");
  }
  const auto graph =
      std::find_if(rows.begin(), rows.end(), [](const SweepRow& row) { return row.graph; });
  if (graph != rows.end()) {
    fmt::print("graph: a call of {} that are captured and repeated by the GPU\n", *graph->graph);
  }
  if (any([](const SweepRow& row) { return row.oversubscribed.value_or(false); })) {
    if (on_gpus) {
      fmt::print("ranks share GPUs: their blocks take turns unless the device runs both\n");
      return;
    }
    fmt::print(
        "ranks share cores: an MPI that spins instead of yielding loses its turn, so ratios say "
        "little about the network "
        "or memory\n");
  }
}

void PrintFastest(std::span<const SweepRow> rows) {
  using Key = decltype(CellOf(SweepRow{}));
  std::vector<Key> order;
  std::map<Key, const SweepRow*> best;
  for (const SweepRow& row : rows) {
    if (!IsMeasured(row)) continue;
    const auto [place, is_new] = best.try_emplace(CellOf(row), &row);
    if (is_new) order.push_back(CellOf(row));
    if (*row.time_us_median < *place->second->time_us_median) place->second = &row;
  }
  if (order.empty()) return;
  fmt::print("\nfastest choice of each size (medians of this run; GB = 1e9 bytes)\n");
  fmt::print("{:<15} {:>6} {:>5} {:<26} {:>10} {:>8} {:>7} {:>5}\n", "collective", "size", "place",
             "choice", "time_us", "busbw", VersusBaseline(rows), "ties");
  for (const Key& key : order) {
    const SweepRow& row = *best[key];
    const std::optional<double> baseline = BaselineTime(rows, row);
    std::optional<double> gain;
    if (baseline) gain = *baseline / *row.time_us_median;
    fmt::print("{:<15} {:>6} {:>5} {:<26} {:>10.2f} {:>8} {:>7} {:>5}\n", NameWithRoot(row),
               FormatSize(row.size_bytes), row.in_place.value_or(false) ? "in" : "out",
               DescribeChoice(row), *row.time_us_median, FormatOr(row.busbw_GBps, "{:.3f}"),
               FormatOr(gain, "{:.2f}x"), CountTies(rows, row));
  }
  fmt::print("ties: other rows whose interval reaches that of the choice; they may be as fast\n");
}

void PrintPlan(std::span<const Cell> cells, std::size_t arena_bytes, int ranks) {
  fmt::print("{:<15} {:>20} {:>20} {:>5}\n", "collective", "size_bytes", "count", "place");
  for (const Cell& cell : cells) {
    fmt::print("{:<15} {:>20} {:>20} {:>5}\n", Name(cell.collective),
               SizeBytes(cell.collective, cell.count, cell.type, cell.ranks), cell.count,
               cell.in_place ? "in" : "out");
  }
  fmt::print("{} cells, {} ranks, buffers of {} bytes a rank; nothing was run\n", cells.size(),
             ranks, arena_bytes);
}

void PrintMpiPlan(const SweepOptions& options) {
  if (options.mpi_algorithms.empty()) return;
  const bool all = options.mpi_algorithms[0] == kAllMpiAlgorithms;
  fmt::print("MPI beside its default: {}\n",
             all ? "all algorithms that it can be told to use"
                 : fmt::format("{}", fmt::join(options.mpi_algorithms, ", ")));
}

SweepRow SkippedRow(const Cell& cell, const std::string& reason) {
  SweepRow row;
  row.collective = cell.collective;
  row.implementation = "hockney";
  row.dtype = cell.type;
  row.ranks = cell.ranks;
  row.nodes = 1;
  row.size_bytes = SizeBytes(cell.collective, cell.count, cell.type, cell.ranks);
  row.count = cell.count;
  row.in_place = cell.in_place;
  row.status = Status::kSkipped;
  row.reason = reason;
  return row;
}

ExitCode WorstOutcome(std::span<const SweepRow> rows) {
  const auto has = [&](Status status) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const SweepRow& row) { return row.status == status; });
  };
  if (has(Status::kWrongData)) return ExitCode::kWrongData;
  if (has(Status::kFailed)) return ExitCode::kInternal;
  return ExitCode::kOk;
}

ProgressLine::ProgressLine(const std::string& when, std::size_t cells, bool is_writer)
    : cells_(cells), start_(std::chrono::steady_clock::now()), last_(start_) {
  if (!is_writer || when == "never") return;
  if (isatty(STDERR_FILENO) != 0) {
    style_ = Style::kInPlace;
  } else if (when == "always" || isatty(STDOUT_FILENO) != 0) {
    style_ = Style::kLines;
  }
}

void ProgressLine::Show(std::size_t done, const Cell& cell) {
  if (style_ == Style::kNone) return;
  const auto now = std::chrono::steady_clock::now();
  if (style_ == Style::kLines && done > 0 && now - last_ < std::chrono::seconds(10)) return;
  last_ = now;
  const std::chrono::duration<double> spent = now - start_;
  std::string left = "time left not known yet";
  if (done > 0) {
    left = fmt::format("about {:.0f} s left", spent.count() / static_cast<double>(done) *
                                                  static_cast<double>(cells_ - done));
  }
  fmt::print(stderr, "{}[{}/{}] {} {} bytes, {}{}", style_ == Style::kInPlace ? "\r" : "", done,
             cells_, Name(cell.collective),
             SizeBytes(cell.collective, cell.count, cell.type, cell.ranks), left,
             style_ == Style::kInPlace ? "\x1b[K" : "\n");
  std::fflush(stderr);
}

void ProgressLine::Clear() {
  if (style_ == Style::kInPlace) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace hockney
