#include "tuner/select/modelled_table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tuner/select/shape_times.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

double Octaves(double a, double b) { return std::abs(std::log2(a / b)); }

// Less is nearer.
auto Distance(const TuningTable& table, RankShape shape) {
  const auto a_node = [](std::int64_t ranks, std::int64_t nodes) {
    return static_cast<double>(ranks) / static_cast<double>(nodes);
  };
  return std::make_tuple(
      (table.nodes == 1) != (shape.nodes == 1),
      Octaves(static_cast<double>(table.nodes), static_cast<double>(shape.nodes)),
      Octaves(a_node(table.ranks, table.nodes), a_node(shape.ranks, shape.nodes)),
      Octaves(static_cast<double>(table.ranks), static_cast<double>(shape.ranks)));
}

using Key = std::pair<Collective, Choice>;
using Factors = std::map<Key, std::multimap<std::uint64_t, double>>;  // by size, of every shape

Factors FindFactors(const Predictor& predictor, std::span<const MeasuredTable> tables) {
  Factors factors;
  for (const MeasuredTable& table : tables) {
    for (const auto& [bytes, cell] : table.cells) {
      for (const auto& [choice, us] : LevelMedians(cell)) {
        const auto predicted =
            predictor(table.key.collective, choice, table.key.ranks, table.key.nodes, bytes);
        if (!predicted || !(*predicted > 0)) continue;
        factors[{table.key.collective, choice}].emplace(bytes, us / 1e6 / *predicted);
      }
    }
  }
  return factors;
}

// The median at sizes within an octave; where there are none, of the nearest size.
double FactorAt(const std::multimap<std::uint64_t, double>& factors, std::uint64_t bytes) {
  const auto distance = [bytes](const auto& entry) {
    return Octaves(static_cast<double>(entry.first), static_cast<double>(bytes));
  };
  const auto nearest =
      std::min_element(factors.begin(), factors.end(),
                       [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  const double reach = std::max(1.0, distance(*nearest));
  std::vector<double> near;
  for (const auto& entry : factors) {
    if (distance(entry) <= reach) near.push_back(entry.second);
  }
  return Median(near);
}

std::vector<std::uint64_t> SizesOf(std::span<const MeasuredTable> tables) {
  std::set<std::uint64_t> sizes;
  for (const MeasuredTable& table : tables) {
    for (const auto& [bytes, cell] : table.cells) sizes.insert(bytes);
  }
  return WithPowersBetween(std::vector<std::uint64_t>(sizes.begin(), sizes.end()));
}

}  // namespace

Predictor Calibrate(Predictor predictor, std::span<const MeasuredTable> tables) {
  if (!predictor) return predictor;
  const auto factors = std::make_shared<Factors>(FindFactors(predictor, tables));
  return [predictor = std::move(predictor), factors](Collective collective, const Choice& choice,
                                                     std::int64_t ranks, std::int64_t nodes,
                                                     std::uint64_t bytes) -> std::optional<double> {
    const auto predicted = predictor(collective, choice, ranks, nodes, bytes);
    const auto factor = factors->find({collective, choice});
    if (!predicted || factor == factors->end()) return predicted;
    return *predicted * FactorAt(factor->second, bytes);
  };
}

Predictor NearestShape(std::span<const MeasuredTable> tables) {
  auto curves = std::make_shared<std::vector<ShapeTimes>>();
  curves->reserve(tables.size());
  for (const MeasuredTable& table : tables) curves->emplace_back(table);
  return [tables, curves](Collective collective, const Choice& choice, std::int64_t ranks,
                          std::int64_t nodes, std::uint64_t bytes) -> std::optional<double> {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (tables[i].key.collective == collective) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return Distance(tables[a].key, {ranks, nodes}) < Distance(tables[b].key, {ranks, nodes});
    });
    for (const std::size_t i : order) {
      const auto times = (*curves)[i].At(bytes);
      const auto found = times.find(choice);
      if (found != times.end()) return found->second / 1e6;
    }
    return std::nullopt;
  };
}

TuningTable ModelledTable(std::span<const MeasuredTable> tables, RankShape shape,
                          const Predictor& predictor, Legality& legality,
                          const RuleOptions& options) {
  if (tables.empty()) return {};
  TuningTable chosen = tables[0].key;
  chosen.ranks = shape.ranks;
  chosen.nodes = shape.nodes;
  const Predictor nearest = NearestShape(tables);
  std::vector<ShapeTimes> known;
  known.reserve(tables.size());
  for (const MeasuredTable& table : tables) known.emplace_back(table);
  std::vector<DecisionPoint> points;
  for (const std::uint64_t bytes : SizesOf(tables)) {
    std::set<Choice> choices;
    for (const ShapeTimes& times : known) {
      for (const auto& [choice, us] : times.At(bytes)) choices.insert(choice);
    }
    DecisionPoint& point = points.emplace_back(DecisionPoint{.bytes = bytes});
    std::map<Choice, double> by_shape;  // us
    for (const Choice& choice : choices) {
      if (!legality.WhyNot(chosen.collective, choice, shape.ranks, shape.nodes).empty()) continue;
      const auto time_by = [&](const Predictor& by) -> std::optional<double> {
        if (!by) return std::nullopt;
        const auto seconds = by(chosen.collective, choice, shape.ranks, shape.nodes, bytes);
        if (!seconds || !std::isfinite(*seconds) || !(*seconds > 0)) return std::nullopt;
        return *seconds * 1e6;
      };
      if (const auto us = time_by(predictor)) {
        point.times_us[choice] = *us;
      } else if (const auto elsewhere = time_by(nearest)) {
        by_shape[choice] = *elsewhere;
      }
    }
    // Times of another shape cannot be held against those predicted for this one.
    if (point.times_us.empty()) point.times_us = std::move(by_shape);
  }
  chosen.rules = ChooseRanges(points, options.margin);
  return chosen;
}

}  // namespace hockney
