#include "bench/fit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "bench/sizes.h"
#include "bench/text_table.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::size_t kMostLines = 10;  // of a list that may be long

using Table = std::vector<std::vector<std::string>>;

// "-" where it is not known.
std::string Percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}

std::string OrDash(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string Size(double bytes) {
  return FormatSize(static_cast<std::uint64_t>(std::llround(bytes)));
}

std::string NameOf(const LevelModel& level) { return "level " + level.level; }

std::string NameOf(const AlgorithmModel& model) {
  std::string name =
      fmt::format("{} {}, {} ranks", Name(model.collective), model.variant, model.ranks);
  if (model.nodes > 1) name += fmt::format(" on {} hosts", model.nodes);
  if (model.in_place) name += ", in place";
  for (const std::string& part : {model.dtype, model.op, model.mode}) {
    if (!part.empty()) name += " " + part;
  }
  return name;
}

constexpr std::size_t kCurveColumns = 4;
const char* const kCurveNames[kCurveColumns] = {"alpha_us", "GB/s", "from", "segments"};

std::vector<std::string> CurveOf(const PiecewiseFit& fit) {
  const std::vector<Segment>& segments = fit.line.segments();
  const Segment& last = segments.back();
  return {fmt::format("{:.2f}", segments[0].alpha_seconds * 1e6),
          fmt::format("{:.4f}", 1e-9 / last.beta_seconds_per_byte), Size(last.begin_bytes),
          std::to_string(segments.size())};
}

void AddErrors(const PiecewiseFit& fit, std::vector<std::string>& line) {
  line.push_back(std::to_string(fit.points));
  line.push_back(Percent(fit.mean_error));
  line.push_back(Percent(fit.held_out_error));
  line.emplace_back(Name(ConfidenceOf(fit)));
}

std::vector<std::string> Head(const char* first, std::initializer_list<const char*> middle) {
  std::vector<std::string> head = {first};
  head.insert(head.end(), kCurveNames, kCurveNames + kCurveColumns);
  head.insert(head.end(), middle.begin(), middle.end());
  for (const char* name : {"sizes", "error", "held out", "confidence"}) head.emplace_back(name);
  return head;
}

std::string LevelsText(const Model& model) {
  if (model.levels.empty()) return "";
  Table table = {Head("level", {"duplex", "pairs GB/s"})};
  for (const LevelModel& level : model.levels) {
    std::vector<std::string>& line = table.emplace_back();
    line.push_back(level.level);
    for (std::string& text : CurveOf(level.fit)) line.push_back(std::move(text));
    line.push_back(OrDash(level.duplex_ratio, "{:.2f}x"));
    line.push_back(level.saturation ? fmt::format("{:.4f}", level.saturation->all_GBps) : "-");
    AddErrors(level.fit, line);
  }
  return FormatTable(table) +
         "alpha_us: time of a message without bytes; GB/s: 1 / beta of the largest messages, from "
         "the size named on; duplex: time of both directions at once over that of one; pairs GB/s: "
         "the most that several pairs moved together; error: mean over the sizes; held out: the "
         "same of sizes that a fit to the others told\n";
}

std::string AlgorithmsText(const Model& model) {
  if (model.algorithms.empty()) return "";
  Table table = {Head("choice", {})};
  std::vector<double> errors;
  for (const AlgorithmModel& each : model.algorithms) {
    if (std::isfinite(each.fit.held_out_error)) errors.push_back(each.fit.held_out_error);
    if (table.size() > kMostLines) continue;
    std::vector<std::string>& line = table.emplace_back();
    line.push_back(NameOf(each));
    for (std::string& text : CurveOf(each.fit)) line.push_back(std::move(text));
    AddErrors(each.fit, line);
  }
  std::string text = fmt::format("\n{} choices of collectives fitted", model.algorithms.size());
  if (!errors.empty()) {
    text +=
        fmt::format(", errors of held-out sizes: median {}, largest {}", Percent(Median(errors)),
                    Percent(*std::max_element(errors.begin(), errors.end())));
  }
  text += "\n" + FormatTable(table);
  if (model.algorithms.size() > kMostLines) text += "... (all are in model.json)\n";
  return text;
}

// Of each kernel and type the faster store policy.
std::string KernelsOf(const Model& model, bool of_node) {
  std::vector<std::string> classes;
  std::vector<std::string> labels;
  std::map<std::pair<std::string, std::string>, double> best;
  const auto add_once = [](std::vector<std::string>& all, const std::string& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  };
  for (const KernelModel& each : model.kernels) {
    const auto& figure = of_node ? each.node_GBps : each.seconds_per_byte;
    if (!figure) continue;
    const std::string label =
        each.kernel == "copy" ? each.kernel : fmt::format("{} {}", each.kernel, Name(each.dtype));
    add_once(labels, label);
    add_once(classes, each.size_class);
    const double value = of_node ? figure->value : figure->value * 1e9;
    const auto [found, is_new] = best.try_emplace({label, each.size_class}, value);
    if (!is_new) {
      found->second = of_node ? std::max(found->second, value) : std::min(found->second, value);
    }
  }
  Table table = {{of_node ? "GB/s" : "ns per byte"}};
  table[0].insert(table[0].end(), classes.begin(), classes.end());
  for (const std::string& label : labels) {
    std::vector<std::string>& line = table.emplace_back();
    line.push_back(label);
    for (const std::string& name : classes) {
      const auto found = best.find({label, name});
      line.push_back(found == best.end() ? "-" : fmt::format("{:.4f}", found->second));
    }
  }
  return FormatTable(table);
}

std::string KernelsText(const Model& model) {
  if (model.kernels.empty()) return "";
  std::int64_t ranks = 1;
  for (const KernelModel& each : model.kernels) ranks = std::max(ranks, each.node_ranks);
  return fmt::format(
      "\nkernels of one rank by where slices lie, the faster store policy\n{}\nread and written by "
      "{} ranks at once\n{}",
      KernelsOf(model, false), ranks, KernelsOf(model, true));
}

std::string OutliersText(const Model& model) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& name, const PiecewiseFit& fit) {
    for (const Outlier& outlier : fit.outliers) {
      lines.push_back(fmt::format("  {}: {} bytes take {:.2f} us, the curve says {:.2f}\n", name,
                                  Size(outlier.bytes), outlier.seconds * 1e6,
                                  outlier.fitted_seconds * 1e6));
    }
  };
  for (const LevelModel& level : model.levels) add(NameOf(level), level.fit);
  for (const AlgorithmModel& each : model.algorithms) add(NameOf(each), each.fit);
  if (lines.empty()) return "";
  std::string text = fmt::format("\noutliers, {} sizes far off their curves:\n", lines.size());
  for (std::size_t i = 0; i < std::min(kMostLines, lines.size()); ++i) text += lines[i];
  if (lines.size() > kMostLines) text += "  ... (all are in model.json)\n";
  return text;
}

std::string RefusedText(const Model& model) {
  if (model.refused.empty()) return "";
  std::string text = fmt::format("\n{} not fitted:\n", model.refused.size());
  for (std::size_t i = 0; i < std::min(kMostLines, model.refused.size()); ++i) {
    text += "  " + model.refused[i] + "\n";
  }
  if (model.refused.size() > kMostLines) text += "  ... (all are in model.json)\n";
  return text;
}

std::string ResidualsOf(const std::string& name, const PiecewiseFit& fit) {
  Table table = {{"size", "time_us", "fitted_us", "error"}};
  for (const SizePoint& point : fit.measured) {
    const double fitted = fit.line.Seconds(point.bytes);
    table.push_back({Size(point.bytes), fmt::format("{:.2f}", point.seconds * 1e6),
                     fmt::format("{:.2f}", fitted * 1e6),
                     fmt::format("{:+.1f} %", 100 * (fitted - point.seconds) / point.seconds)});
  }
  return fmt::format("\nresiduals of {}\n{}", name, FormatTable(table));
}

}  // namespace

std::string FitText(const Model& model) {
  return LevelsText(model) + AlgorithmsText(model) + KernelsText(model) + OutliersText(model) +
         RefusedText(model);
}

std::string ResidualsText(const Model& model) {
  std::string text;
  for (const LevelModel& level : model.levels) text += ResidualsOf(NameOf(level), level.fit);
  for (const AlgorithmModel& each : model.algorithms) text += ResidualsOf(NameOf(each), each.fit);
  return text;
}

}  // namespace hockney
