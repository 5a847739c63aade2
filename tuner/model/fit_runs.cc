#include "tuner/model/fit_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <tuple>

#include "topology/check.h"
#include "tuner/bandwidth.h"
#include "tuner/model/fit_kernels.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

// The points' fit, or nothing after the reason was noted.
std::optional<PiecewiseFit> TryFit(const std::string& what, std::span<const SizePoint> points,
                                   std::vector<std::string>& refused) {
  try {
    return FitPiecewise(points);
  } catch (const std::invalid_argument& reason) {
    refused.push_back(fmt::format("{}: {}", what, reason.what()));
    return std::nullopt;
  }
}

// Median times by what was measured at once.
using Times = std::map<std::uint64_t, std::vector<double>>;

std::map<std::uint64_t, double> Medians(const Times& times) {
  std::map<std::uint64_t, double> medians;
  for (const auto& [bytes, all] : times) medians[bytes] = Median(all);
  return medians;
}

// The largest message that several pairs sent at once, with all numbers of pairs; one pair sent it
// alone, too.
std::optional<LevelModel::Saturation> FindSaturation(std::span<const LinkRow> rows,
                                                     const std::string& level) {
  std::map<std::uint64_t, std::map<std::int64_t, std::vector<double>>> by_size;
  for (const LinkRow& row : rows) {
    if (row.level == level && !row.duplex) {
      by_size[row.size_bytes][row.pairs].push_back(row.time_us_median);
    }
  }
  for (auto size = by_size.rbegin(); size != by_size.rend(); ++size) {
    const auto& [bytes, by_pairs] = *size;
    if (by_pairs.size() < 2 || !by_pairs.contains(1)) continue;
    LevelModel::Saturation found{.points = by_pairs.size()};
    for (const auto& [pairs, times] : by_pairs) {
      const double rate = RateGBps(bytes * static_cast<std::uint64_t>(pairs), Median(times));
      if (pairs == 1) found.one_GBps = rate;
      found.all_GBps = std::max(found.all_GBps, rate);
      found.most_pairs = pairs;
    }
    return found;
  }
  return std::nullopt;
}

void FitDuplex(const Times& one_way, const Times& both, LevelModel& model) {
  const auto alone = Medians(one_way);
  std::vector<double> ratios;
  for (const auto& [bytes, us] : Medians(both)) {
    const auto found = alone.find(bytes);
    if (found != alone.end()) ratios.push_back(us / found->second);
  }
  if (ratios.empty()) return;
  model.duplex_ratio = Median(ratios);
  model.duplex_points = ratios.size();
}

// What run.json of `hockney links` says of the level, median over runs.
std::optional<double> OfRuns(std::span<const RunRecords> runs, const std::string& level,
                             const char* key) {
  std::vector<double> values;
  for (const RunRecords& run : runs) {
    if (!run.run.is_object() || !run.run.contains("levels")) continue;
    for (const auto& each : run.run["levels"]) {
      if (each.value("level", "") != level || !each.contains(key)) continue;
      if (each[key].is_number()) values.push_back(each[key].get<double>());
    }
  }
  return values.empty() ? std::nullopt : std::optional<double>(Median(values));
}

// What no measurement can be, as a reason; empty for a good row.
std::string WhyWrong(const LinkRow& row) {
  const double us = row.time_us_median;
  if (std::isfinite(us) && us > 0) return "";
  return fmt::format("{} bytes take {} us: expected a time that is positive", row.size_bytes, us);
}

void FitLevel(std::span<const RunRecords> runs, std::span<const LinkRow> rows,
              const std::string& level, Model& model) {
  Times one_way;
  Times both;
  for (const LinkRow& row : rows) {
    if (row.level != level) continue;
    const std::string wrong = WhyWrong(row);
    if (!wrong.empty()) {
      model.refused.push_back(fmt::format("level {}: {}", level, wrong));
      return;
    }
    if (row.pairs == 1) (row.duplex ? both : one_way)[row.size_bytes].push_back(row.time_us_median);
  }
  std::vector<SizePoint> points;
  for (const auto& [bytes, us] : Medians(one_way)) {
    points.push_back({static_cast<double>(bytes), us / 1e6});
  }
  const auto fit = TryFit("level " + level, points, model.refused);
  if (!fit) return;
  LevelModel found{.level = level, .fit = *fit};
  FitDuplex(one_way, both, found);
  found.saturation = FindSaturation(rows, level);
  found.gap_us = OfRuns(runs, level, "gap_us");
  found.overhead_us = OfRuns(runs, level, "overhead_us");
  model.levels.push_back(std::move(found));
}

void FitLevels(std::span<const RunRecords> runs, Model& model) {
  std::vector<LinkRow> rows;
  std::vector<std::string> levels;  // in the order of the runs, near first
  for (const RunRecords& run : runs) {
    for (const LinkRow& row : run.links) {
      rows.push_back(row);
      if (std::find(levels.begin(), levels.end(), row.level) == levels.end()) {
        levels.push_back(row.level);
      }
    }
  }
  for (const std::string& level : levels) FitLevel(runs, rows, level, model);
}

AlgorithmModel KeyOf(const SweepRow& row) {
  const PiecewiseLine none({{.begin_bytes = 0, .alpha_seconds = 0, .beta_seconds_per_byte = 1}});
  return {.collective = row.collective,
          .variant = VariantOf(row),
          .ranks = row.ranks,
          .nodes = row.nodes.value_or(1),
          .in_place = row.in_place.value_or(false),
          .memory_kind = row.memory_kind,
          .dtype = row.dtype ? std::string(Name(*row.dtype)) : "",
          .op = row.op ? std::string(Name(*row.op)) : "",
          .mode = row.mode,
          .fit = {.line = none}};
}

auto Tie(const AlgorithmModel& m) {
  return std::tie(m.collective, m.variant, m.ranks, m.nodes, m.in_place, m.memory_kind, m.dtype,
                  m.op, m.mode);
}

// Of the calls that a model is about, with a time, whatever that is.
bool IsUsual(const SweepRow& row) {
  return row.status == Status::kOk && row.groups.empty() && row.root.value_or(0) == 0 &&
         (row.buffers == "refreshed" || row.buffers.empty()) && row.size_bytes > 0 &&
         row.time_us_median;
}

void FitAlgorithms(std::span<const RunRecords> runs, Model& model) {
  const auto less = [](const AlgorithmModel& a, const AlgorithmModel& b) {
    return Tie(a) < Tie(b);
  };
  std::map<AlgorithmModel, std::vector<SizePoint>, decltype(less)> points(less);
  for (const RunRecords& run : runs) {
    for (const SweepRow& row : run.sweep) {
      if (!IsUsual(row)) continue;  // the fit says what is wrong with a time
      points[KeyOf(row)].push_back(
          {static_cast<double>(row.size_bytes), *row.time_us_median / 1e6});
    }
  }
  for (const auto& [key, curve] : points) {
    const std::string what =
        fmt::format("{} {}, {} ranks", Name(key.collective), key.variant, key.ranks);
    const auto fit = TryFit(what, curve, model.refused);
    if (!fit) continue;
    model.algorithms.push_back(key);
    model.algorithms.back().fit = *fit;
  }
}

}  // namespace

bool CountsForModel(const SweepRow& row) {
  return IsUsual(row) && std::isfinite(*row.time_us_median) && *row.time_us_median > 0;
}

RunRecords ReadRecords(const std::string& path) {
  namespace fs = std::filesystem;
  RunRecords records{.path = path, .run = ReadRun(path)};
  const bool has_links = fs::exists(fs::path(path) / "links.csv");
  const bool has_sweep = fs::exists(fs::path(path) / "sweep.csv");
  const bool has_kernels = fs::exists(fs::path(path) / "kernels.csv");
  if (!has_links && !has_sweep && !has_kernels) {
    throw InputError(
        fmt::format("{}: expected a run folder with links.csv, sweep.csv or kernels.csv", path));
  }
  if (has_links) records.links = ReadLinks(path);
  if (has_sweep) records.sweep = ReadSweep(path);
  if (has_kernels) records.kernels = ReadKernels(path);
  return records;
}

Model FitRuns(std::span<const RunRecords> runs) {
  Model model;
  std::vector<KernelRow> kernels;
  for (const RunRecords& run : runs) {
    model.runs.push_back(run.path);
    kernels.insert(kernels.end(), run.kernels.begin(), run.kernels.end());
  }
  FitLevels(runs, model);
  FitAlgorithms(runs, model);
  model.kernels = FitKernels(kernels, model.refused);
  return model;
}

}  // namespace hockney
