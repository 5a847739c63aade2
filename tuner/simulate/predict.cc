#include "tuner/simulate/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "collectives/levels.h"
#include "tuner/bandwidth.h"
#include "tuner/simulate/machine_of_model.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr double kTail = 0.95;

// The rows of one choice and size, of all launches.
auto KeyOf(const SweepRow& row) {
  return std::tuple(row.collective, row.ranks, row.nodes, row.size_bytes, row.in_place, row.mode,
                    row.dtype, row.root, VariantOf(row));
}

bool IsMeasured(const SweepRow& row) {
  return row.status == Status::kOk && row.time_us_median && row.implementation == "hockney" &&
         row.groups.empty() && row.size_bytes > 0;
}

int IntParameter(const SweepRow& row, const char* key, int otherwise) {
  const std::string text = FindParameter(row, key);
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

RankPlacement BlockPlacement(int ranks, int nodes, int nodes_per_rack) {
  if (ranks < 1 || nodes < 1 || nodes > ranks) {
    throw std::invalid_argument(
        fmt::format("{} ranks on {} nodes: expected 1 rank a node or more", ranks, nodes));
  }
  RankPlacement placement;
  placement.node_of_rank.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    placement.node_of_rank[rank] =
        static_cast<int>(static_cast<std::int64_t>(rank) * nodes / ranks);
  }
  if (nodes_per_rack < 1 || nodes <= nodes_per_rack) return placement;
  placement.rack_of_node.resize(nodes);
  for (int node = 0; node < nodes; ++node) placement.rack_of_node[node] = node / nodes_per_rack;
  return placement;
}

SimRequest RequestOfRow(const SweepRow& row) {
  if (row.implementation != "hockney" || !row.count || !row.dtype) {
    throw std::invalid_argument(
        "only rows of hockney's own, with count and type, can be simulated");
  }
  SimRequest request;
  std::string name = AlgorithmOf(row);
  if (HasLevels(name)) {
    request.parameters.levels = ParseLevels(name);
    name = kHierarchical;
  }
  request.row = FindAlgorithm(row.collective, name);
  if (request.row == nullptr) throw std::invalid_argument("no algorithm named " + name);
  const Shape shape{row.collective, static_cast<int>(row.ranks),
                    static_cast<int>(row.root.value_or(0))};
  request.counts = EvenCounts(shape, *row.count);
  request.type = *row.dtype;
  request.parameters.lanes = static_cast<int>(row.lanes.value_or(1));
  request.parameters.protocol = row.protocol == "ll" ? Protocol::kLl : Protocol::kSimple;
  // A row states the slices that its size came to; what was allowed is at least that and two.
  request.parameters.slices = std::max(2, IntParameter(row, "slices", 2));
  request.limits.slots =
      std::max(IntParameter(row, "slots", request.limits.slots), request.parameters.slices + 1);
  return request;
}

Predictor SimulatedPredictor(Model model, int nodes_per_rack) {
  return [model = std::move(model), nodes_per_rack](Collective collective, const Choice& choice,
                                                    std::int64_t ranks, std::int64_t nodes,
                                                    std::uint64_t bytes) -> std::optional<double> {
    SweepRow row;
    row.collective = collective;
    row.implementation = choice.implementation;
    row.algorithm = choice.algorithm;  // with its levels, which AlgorithmOf leaves as they are
    row.protocol = choice.protocol;
    row.lanes = choice.lanes;
    row.parameters = choice.parameters;
    row.dtype = DataType::kFloat32;
    row.ranks = ranks;
    row.nodes = nodes;
    row.count = CountForSize(collective, bytes, *row.dtype, static_cast<int>(ranks));
    try {
      const SimMachine machine = MachineOfModel(
          model, BlockPlacement(static_cast<int>(ranks), static_cast<int>(nodes), nodes_per_rack));
      const SimOptions isolated{.refill_seconds = IsolatedRefillSeconds(machine), .repeats = true};
      return Simulation(RequestOfRow(row), machine, isolated).Run().seconds;
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  };
}

PredictionReport PredictRows(const Model& model, std::span<const SweepRow> rows, int nodes_per_rack,
                             std::uint64_t gated_bytes) {
  std::map<decltype(KeyOf(rows[0])), std::vector<const SweepRow*>> choices;
  for (const SweepRow& row : rows) {
    if (IsMeasured(row)) choices[KeyOf(row)].push_back(&row);
  }
  PredictionReport report;
  std::vector<double> errors;
  for (const auto& [key, launches] : choices) {
    const SweepRow& row = *launches[0];
    std::vector<double> times;
    times.reserve(launches.size());
    for (const SweepRow* each : launches) times.push_back(*each->time_us_median);
    PredictedRow found{.row = row, .measured_us = Median(times)};
    try {
      const SimMachine machine = MachineOfModel(
          model, BlockPlacement(static_cast<int>(row.ranks),
                                static_cast<int>(row.nodes.value_or(1)), nodes_per_rack));
      const Simulation simulation(
          RequestOfRow(row), machine,
          {.refill_seconds = row.mode == "streamed" ? 0 : IsolatedRefillSeconds(machine),
           .repeats = true});
      found.predicted_us = simulation.Run().seconds * 1e6;
    } catch (const std::invalid_argument& reason) {
      report.left_out.push_back(
          fmt::format("{} {}: {}", Name(row.collective), VariantOf(row), reason.what()));
      continue;
    }
    if (row.size_bytes >= gated_bytes) errors.push_back(std::abs(found.error()));
    report.rows.push_back(std::move(found));
  }
  report.gated = errors.size();
  if (errors.empty()) return report;
  report.median_error = Median(errors);
  report.p95_error = Quantile(errors, kTail);
  return report;
}

}  // namespace hockney
