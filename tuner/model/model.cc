#include "tuner/model/model.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHighError = 0.05;
constexpr std::size_t kHighPoints = 12;
constexpr double kFairError = 0.15;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json NumberOrNull(const std::optional<double>& value) {
  return value ? NumberOrNull(*value) : Json(nullptr);
}

Json FitJson(const PiecewiseFit& fit) {
  Json segments = Json::array();
  for (const Segment& segment : fit.line.segments()) {
    segments.push_back({{"begin_bytes", segment.begin_bytes},
                        {"alpha_us", segment.alpha_seconds * 1e6},
                        {"ns_per_byte", segment.beta_seconds_per_byte * 1e9}});
  }
  Json outliers = Json::array();
  for (const Outlier& outlier : fit.outliers) {
    outliers.push_back({{"bytes", outlier.bytes},
                        {"time_us", outlier.seconds * 1e6},
                        {"fitted_us", outlier.fitted_seconds * 1e6}});
  }
  return {{"segments", segments},
          {"points", fit.points},
          {"mean_error", fit.mean_error},
          {"largest_error", fit.largest_error},
          {"held_out_error", NumberOrNull(fit.held_out_error)},
          {"outliers", outliers},
          {"confidence", Name(ConfidenceOf(fit))}};
}

Json MeasuredJson(const std::optional<Measured>& figure, double unit) {
  if (!figure) return nullptr;
  return {{"value", figure->value * unit},
          {"points", figure->points},
          {"spread", NumberOrNull(figure->spread)},
          {"confidence", Name(ConfidenceOf(*figure))}};
}

Json KernelJson(const KernelModel& model) {
  return {{"kernel", model.kernel},
          {"dtype", Name(model.dtype)},
          {"size_class", model.size_class},
          {"store", model.store},
          {"ns_per_byte", MeasuredJson(model.seconds_per_byte, 1e9)},
          {"gamma_ns_per_byte", MeasuredJson(model.gamma_seconds_per_byte, 1e9)},
          {"node_ranks", model.node_ranks},
          {"node_GBps", MeasuredJson(model.node_GBps, 1)}};
}

Json LevelJson(const LevelModel& level) {
  Json json = {{"level", level.level},
               {"fit", FitJson(level.fit)},
               {"duplex_ratio", NumberOrNull(level.duplex_ratio)},
               {"duplex_points", level.duplex_points},
               {"saturation", nullptr},
               {"gap_us", NumberOrNull(level.gap_us)},
               {"overhead_us", NumberOrNull(level.overhead_us)}};
  if (level.saturation) {
    json["saturation"] = {{"one_GBps", level.saturation->one_GBps},
                          {"all_GBps", level.saturation->all_GBps},
                          {"most_pairs", level.saturation->most_pairs},
                          {"points", level.saturation->points}};
  }
  return json;
}

Json AlgorithmJson(const AlgorithmModel& model) {
  return {{"collective", Name(model.collective)},
          {"variant", model.variant},
          {"ranks", model.ranks},
          {"nodes", model.nodes},
          {"in_place", model.in_place},
          {"memory_kind", model.memory_kind},
          {"dtype", model.dtype},
          {"op", model.op},
          {"mode", model.mode},
          {"fit", FitJson(model.fit)}};
}

}  // namespace

std::string_view Name(Confidence confidence) {
  switch (confidence) {
    case Confidence::kHigh:
      return "high";
    case Confidence::kFair:
      return "fair";
    case Confidence::kLow:
      return "low";
    case Confidence::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Confidence ConfidenceOf(const PiecewiseFit& fit) {
  if (!std::isfinite(fit.held_out_error)) return Confidence::kUnknown;
  if (fit.held_out_error <= kHighError && fit.points >= kHighPoints) return Confidence::kHigh;
  return fit.held_out_error <= kFairError ? Confidence::kFair : Confidence::kLow;
}

Confidence ConfidenceOf(const Measured& figure) {
  if (!std::isfinite(figure.spread)) return Confidence::kUnknown;
  if (figure.spread <= kHighError) return Confidence::kHigh;
  return figure.spread <= kFairError ? Confidence::kFair : Confidence::kLow;
}

Json ModelJson(const Model& model) {
  Json json = {{"schema", Model::kSchema},    {"version", Model::kVersion},
               {"runs", model.runs},          {"levels", Json::array()},
               {"algorithms", Json::array()}, {"kernels", Json::array()},
               {"refused", model.refused}};
  for (const LevelModel& level : model.levels) json["levels"].push_back(LevelJson(level));
  for (const AlgorithmModel& each : model.algorithms) {
    json["algorithms"].push_back(AlgorithmJson(each));
  }
  for (const KernelModel& each : model.kernels) json["kernels"].push_back(KernelJson(each));
  return json;
}

}  // namespace hockney
