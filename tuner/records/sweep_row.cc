#include "tuner/records/sweep_row.h"

#include <algorithm>
#include <filesystem>

#include "collectives/levels.h"

namespace hockney {
namespace {

constexpr bool kRequired = true;

constexpr Column<SweepRow> kSweepColumns[] = {
    {"launch", &SweepRow::launch},
    {"order", &SweepRow::order},
    {"collective", &SweepRow::collective, kRequired},
    {"implementation", &SweepRow::implementation, kRequired},
    {"algorithm", &SweepRow::algorithm},
    {"protocol", &SweepRow::protocol},
    {"lanes", &SweepRow::lanes},
    {"parameters", &SweepRow::parameters},
    {"transport", &SweepRow::transport},
    {"mode", &SweepRow::mode},
    {"buffers", &SweepRow::buffers},
    {"clock", &SweepRow::clock},
    {"clock_error_us", &SweepRow::clock_error_us},
    {"page_kib", &SweepRow::page_kib},
    {"memory_kind", &SweepRow::memory_kind},
    {"graph", &SweepRow::graph},
    {"groups", &SweepRow::groups},
    {"root", &SweepRow::root},
    {"dtype", &SweepRow::dtype},
    {"op", &SweepRow::op},
    {"ranks", &SweepRow::ranks, kRequired},
    {"nodes", &SweepRow::nodes},
    {"size_bytes", &SweepRow::size_bytes, kRequired},
    {"count", &SweepRow::count},
    {"in_place", &SweepRow::in_place},
    {"samples", &SweepRow::samples},
    {"time_us_median", &SweepRow::time_us_median, kRequired},
    {"time_us_ci_low", &SweepRow::time_us_ci_low},
    {"time_us_ci_high", &SweepRow::time_us_ci_high},
    {"time_us_min", &SweepRow::time_us_min},
    {"time_us_mean", &SweepRow::time_us_mean},
    {"time_us_p95", &SweepRow::time_us_p95},
    {"time_us_p99", &SweepRow::time_us_p99},
    {"entry_skew_ns", &SweepRow::entry_skew_ns},
    {"c2c_ns", &SweepRow::c2c_ns},
    {"slowest_rank", &SweepRow::slowest_rank},
    {"algbw_GBps", &SweepRow::algbw_GBps},
    {"busbw_GBps", &SweepRow::busbw_GBps},
    {"wire_bytes_per_rank", &SweepRow::wire_bytes_per_rank},
    {"bound_GBps", &SweepRow::bound_GBps},
    {"bound_fraction", &SweepRow::bound_fraction},
    {"errors", &SweepRow::errors},
    {"status", &SweepRow::status, kRequired},
    {"reason", &SweepRow::reason},
    {"requested_algorithm", &SweepRow::requested_algorithm},
    {"verified", &SweepRow::verified},
    {"converged", &SweepRow::converged},
    {"oversubscribed", &SweepRow::oversubscribed},
    {"burst_limited", &SweepRow::burst_limited},
};

constexpr Column<SampleRow> kSampleColumns[] = {
    {"row", &SampleRow::row, kRequired},         {"launch", &SampleRow::launch, kRequired},
    {"sample", &SampleRow::sample, kRequired},   {"order", &SampleRow::order},
    {"time_us", &SampleRow::time_us, kRequired}, {"slowest_rank", &SampleRow::slowest_rank},
};

std::string InFolder(const std::string& path, const char* file) {
  const std::filesystem::path given(path);
  return std::filesystem::is_directory(given) ? (given / file).string() : path;
}

}  // namespace

std::span<const Column<SweepRow>> SweepRow::Columns() { return kSweepColumns; }
std::span<const Column<SampleRow>> SampleRow::Columns() { return kSampleColumns; }

std::vector<SweepRow> ReadSweep(const std::string& path, std::vector<std::string>* notes) {
  return ReadTable<SweepRow>(InFolder(path, "sweep.csv"), notes);
}

std::vector<SampleRow> ReadSamples(const std::string& path, std::vector<std::string>* notes) {
  return ReadTable<SampleRow>(InFolder(path, "samples.csv"), notes);
}

std::string FindParameter(std::string_view parameters, std::string_view key) {
  for (std::size_t at = 0; at < parameters.size();) {
    const std::size_t end = std::min(parameters.find(';', at), parameters.size());
    const std::string_view part = parameters.substr(at, end - at);
    if (part.starts_with(key) && part.substr(key.size()).starts_with('=')) {
      return std::string(part.substr(key.size() + 1));
    }
    at = end + 1;
  }
  return "";
}

std::string FindParameter(const SweepRow& row, std::string_view key) {
  return FindParameter(std::string_view(row.parameters), key);
}

std::string AlgorithmOf(const SweepRow& row) {
  const std::string intra = FindParameter(row, "intra");
  const std::string rack = FindParameter(row, "rack");
  const std::string inter = FindParameter(row, "inter");
  if (row.algorithm != kHierarchical || inter.empty()) return row.algorithm;
  return NameOf(Levels{.intra = intra, .rack = rack, .inter = inter});
}

std::string VariantOf(const SweepRow& row) {
  std::string text = row.implementation + " " + AlgorithmOf(row);
  if (!row.protocol.empty()) text += " " + row.protocol;
  if (row.lanes) text += " x" + std::to_string(*row.lanes);
  // Not pieces and slice_bytes, which follow from the size.
  for (const std::string key :
       {"faninout", "library", "path", "segsize", "slices", "store", "test"}) {
    const std::string value = FindParameter(row, key);
    if (!value.empty()) text += " " + key + "=" + value;
  }
  if (row.graph) text += " graph=" + std::to_string(*row.graph);
  return text;
}

}  // namespace hockney
