#include "bench/nccl_tests/table.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/build.h"
#include "bench/nccl_tests/names.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

constexpr int kTimeWidth = 7;
constexpr int kBandwidthWidth = 6;

// The lines in our own words. Wrappers search the output for "bandwidth", "FAILED", "out-of-place"
// and for lines with both "time" and "busbw", so none of these may stand in them.

std::string BlockingNote(Blocking blocking) {
  switch (blocking) {
    case Blocking::kNone:
      return "";
    case Blocking::kCallBarrier:
      return "# Blocking 1: each call is waited for, then a barrier; both are timed\n";
    case Blocking::kCall:
      return "# Blocking 2: each call is waited for; no barrier\n";
    case Blocking::kIterationBarrier:
      return "# Blocking 3: each iteration is waited for, then a barrier that is not timed\n";
  }
  throw std::invalid_argument("blocking outside its enumeration");
}

std::string IterationNote(const NcclTestsOptions& options) {
  if (!options.per_iteration) return "";
  return fmt::format("# Per iteration: clock of the host; i_* are of the slowest rank{}\n",
                     options.per_iteration_skip == 0
                         ? ""
                         : fmt::format("; the first {} are left out", options.per_iteration_skip));
}

// nccl-tests' factor of bus bandwidth, which exists for one rank, too: (n-1)/n and the like are 0
// there, and what is 1 for any n stays 1.
double TableFactor(Collective collective, int ranks) {
  if (ranks > 1) return BusFactor(collective, ranks).value_or(0);
  const auto factor = BusFactor(collective, 2);
  return factor == BusFactor(collective, 3) ? factor.value_or(0) : 0;
}

std::string OneRankNote(const NcclTestsRun& run) {
  const int ranks = run.ranks();
  if (ranks != 1 || TableFactor(run.collective, ranks) > 0) return "";
  return "# One rank: nothing crosses a link, so busbw is not defined and 0 stands in its place\n";
}

std::string ParameterLine(const NcclTestsOptions& options) {
  const bool by_factor = options.factor > 1;
  return fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: {} validation: {} graph: 0 unalign: {}\n",
      options.threads, options.gpus, options.begin_bytes, options.end_bytes,
      by_factor ? options.factor : options.increment_bytes, by_factor ? "factor" : "bytes",
      options.warmups, options.iterations, options.aggregated, options.checks, options.unalign);
}

std::string DeviceLine(const RankDevice& device) {
  return fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}\n",
                     device.rank, device.group, device.pid, ShortHost(device), device.device,
                     kHostBusId, DeviceName(device));
}

std::string SideHead(const NcclTestsOptions& options, bool units) {
  std::string text =
      units ? fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "")
            : fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "time", "algbw", "busbw", "#wrong");
  if (!options.per_iteration) return text;
  return text +
         (units ? fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "(us)", "(us)", "(us)", "(%)")
                : fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "i_min", "i_max", "i_p99", "i_cv%"));
}

std::string ColumnHeads(const NcclTestsOptions& options) {
  std::string text = fmt::format("# {:61}", "");
  text += options.per_iteration
              ? "   out-of-place (+ per-iteration)                                in-place (+ "
                "per-iteration)\n"
              : "out-of-place                       in-place          \n";
  for (const bool units : {false, true}) {
    const std::string side = SideHead(options, units);
    text += units ? fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "",
                                "", "")
                  : fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type",
                                "redop", "root");
    text += side + side + ' ';
    if (options.timestamps) {
      text += fmt::format("{:>19}", units ? "%Y-%m-%d %H:%M:%S" : "timestamp");
    }
    text += '\n';
  }
  return text;
}

std::string SideText(const NcclTestsOptions& options, const std::optional<RowSide>& side) {
  const auto number = [](double value, int width) { return "  " + FixedWidth(value, width); };
  std::string text = fmt::format("  {:>7}  {:>6}  {:>6}", "N/A", "N/A", "N/A");
  if (side) {
    text = number(side->time_us, kTimeWidth) + number(side->algbw_GBps, kBandwidthWidth) +
           number(side->busbw_GBps, kBandwidthWidth);
  }
  // N/A stands one character to the left of numbers, as there.
  text +=
      side && side->wrong ? fmt::format("  {:6g}", static_cast<double>(*side->wrong)) : "    N/A";
  if (!options.per_iteration) return text;
  if (!side || !side->iterations) {
    return text + fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "N/A", "N/A", "N/A", "N/A");
  }
  const IterationStats stats = SummarizeIterations(*side->iterations);
  return text + number(stats.min_us, kTimeWidth) + number(stats.max_us, kTimeWidth) +
         number(stats.p99_us, kTimeWidth) + number(stats.cv_percent, kTimeWidth);
}

}  // namespace

std::string DeviceName(const RankDevice& device) {
  return device.cpu.empty() ? "CPU" : "CPU " + device.cpu;
}

std::string_view ShortHost(const RankDevice& device) {
  return std::string_view(device.host).substr(0, device.host.find('.'));
}

int NcclTestsRun::ranks() const {
  return static_cast<int>(std::count_if(devices.begin(), devices.end(),
                                        [](const RankDevice& d) { return d.group == 0; }));
}

RowSide MakeSide(const NcclTestsRun& run, std::uint64_t size_bytes, double time_us) {
  RowSide side;
  side.time_us = time_us;
  side.algbw_GBps = static_cast<double>(size_bytes) / (time_us * 1e3);
  side.busbw_GBps = side.algbw_GBps * TableFactor(run.collective, run.ranks());
  return side;
}

void RunTotals::Add(const TableRow& row) {
  AddSide(row.out_of_place);
  if (row.in_place) AddSide(*row.in_place);
}

void RunTotals::AddSide(const RowSide& side) {
  if (side.wrong.value_or(0) > 0) ++out_of_bounds_;
  busbw_sum_ += side.busbw_GBps;
  ++sides_;
}

double RunTotals::average_busbw_GBps() const { return sides_ == 0 ? 0 : busbw_sum_ / sides_; }

bool BelowMinimum(double average_busbw, std::optional<double> minimum_busbw) {
  return minimum_busbw && average_busbw < *minimum_busbw * 0.9;
}

std::string TableHeader(const NcclTestsRun& run) {
  // The first line names hockney, so that nobody takes the numbers for NCCL's.
  std::string text = fmt::format(
      "# hockney version {} (table of nccl-tests 2.19, buffers on the host)\n"
      "# Collective test starting: {}\n",
      ReadBuild().version, run.program);
  text += ParameterLine(run.options) + BlockingNote(run.options.blocking) +
          IterationNote(run.options) + OneRankNote(run);
  text += "#\n# Using devices\n";
  for (const RankDevice& device : run.devices) text += DeviceLine(device);
  return text + "#\n" + ColumnHeads(run.options);
}

std::string TableRowText(const NcclTestsRun& run, const TableRow& row) {
  std::string text = fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}", row.size_bytes, row.count,
                                 NcclTestsTypeName(row.type),
                                 NcclTestsRedopName(run.collective, row.op), row.root);
  text += SideText(run.options, row.out_of_place) + SideText(run.options, row.in_place);
  if (run.options.timestamps) text += fmt::format("{:>21}", LocalTimeText(row.finished));
  return text + '\n';
}

std::string TableFooter(const NcclTestsRun& run, const RunTotals& totals,
                        std::optional<double> minimum_busbw, std::string_view error) {
  const double average = totals.average_busbw_GBps();
  std::string_view verdict;
  if (minimum_busbw) verdict = BelowMinimum(average, minimum_busbw) ? "FAILED" : "OK";
  return fmt::format(
      "# {:20} : {} {}\n# {:20} : {:g} {}\n#\n# Collective test concluded: {}\n#\n{}\n",
      "Out of bounds values", totals.out_of_bounds(), totals.out_of_bounds() == 0 ? "OK" : "FAILED",
      "Avg bus bandwidth", average, verdict, run.program,
      error.empty() ? "" : fmt::format("# error: {}", error));
}

std::string FixedWidth(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= static_cast<std::size_t>(width)) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width < 7 ? 0 : 1);
}

std::string LocalTimeText(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace hockney
