#include "bench/simulate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/sizes.h"
#include "bench/text_table.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

constexpr std::size_t kMostPathLines = 24;

std::optional<double> BusBandwidth(const SimulatedRow& row) {
  const auto factor = BusFactor(row.collective, row.ranks);
  if (!factor || row.size_bytes == 0) return std::nullopt;
  return *factor * RateGBps(row.size_bytes, row.result->seconds * 1e6);
}

std::string Volume(double bytes) { return bytes > 0 ? fmt::format("{:.4g}", bytes / 1e9) : "-"; }

std::vector<std::string> LineOf(const SimulatedRow& row) {
  std::vector<std::string> line = {std::string(Name(row.collective)), FormatSize(row.size_bytes),
                                   row.algorithm, row.protocol};
  if (!row.result) {
    line.insert(line.end(), {"-", "-", "-", "-", "-", "-", row.reason});
    return line;
  }
  const SimResult& result = *row.result;
  const auto bus = BusBandwidth(row);
  line.push_back(fmt::format("{:.2f}", result.seconds * 1e6));
  line.push_back(bus ? fmt::format("{:.3f}", *bus) : "-");
  for (const double bytes : result.bytes) line.push_back(Volume(bytes));
  line.push_back(fmt::format("{}/{}", result.classes, result.ranks));
  line.push_back(fmt::format("{}/{}", result.simulated_pieces, result.pieces));
  return line;
}

}  // namespace

std::string SimulatedTable(std::span<const SimulatedRow> rows) {
  std::vector<std::vector<std::string>> table = {{"collective", "size", "algorithm", "protocol",
                                                  "time_us", "busbw", "node GB", "rack GB",
                                                  "fabric GB", "ranks", "pieces"}};
  for (const SimulatedRow& row : rows) table.push_back(LineOf(row));
  return FormatTable(table) +
         "Predicted, not measured. busbw in GB/s; GB: what all ranks send within nodes, within "
         "racks and between racks; ranks, pieces: simulated of all, since those that do the same "
         "stand for each other\n";
}

std::string SimulatedJson(std::span<const SimulatedRow> rows) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const SimulatedRow& row : rows) {
    Json json = {{"collective", Name(row.collective)},
                 {"size_bytes", row.size_bytes},
                 {"ranks", row.ranks},
                 {"algorithm", row.algorithm},
                 {"protocol", row.protocol},
                 {"time_us", nullptr},
                 {"busbw_GBps", nullptr},
                 {"reason", row.reason}};
    if (row.result) {
      const auto bus = BusBandwidth(row);
      json["time_us"] = row.result->seconds * 1e6;
      if (bus) json["busbw_GBps"] = *bus;
      const auto& bytes = row.result->bytes;
      json["bytes"] = {{"node", bytes[0]}, {"rack", bytes[1]}, {"fabric", bytes[2]}};
      json["simulated_ranks"] = row.result->classes;
    }
    list.push_back(std::move(json));
  }
  return Json{{"predicted", true}, {"rows", std::move(list)}}.dump(2) + "\n";
}

std::string CriticalPathText(std::span<const CriticalStep> path,
                             std::span<const Simulation::LaneName> lanes) {
  const PathShares shares = SharesOf(path);
  std::string text = fmt::format(
      "critical path: {} slices; lanes at work {:.2f} us, messages on their way {:.2f} us, waiting "
      "for slots {:.2f} us, tokens {:.2f} us\n",
      path.size(), shares.work_seconds * 1e6, shares.message_seconds * 1e6,
      shares.credit_seconds * 1e6, shares.token_seconds * 1e6);
  std::vector<std::vector<std::string>> table = {
      {"begin_us", "end_us", "waited_us", "rank", "lane", "step", "slice"}};
  const std::size_t skipped = path.size() > kMostPathLines ? path.size() - kMostPathLines : 0;
  for (const CriticalStep& step : path.subspan(skipped)) {
    const Simulation::LaneName& name = lanes[step.slice.lane];
    table.push_back({fmt::format("{:.2f}", step.slice.begin_seconds * 1e6),
                     fmt::format("{:.2f}", step.slice.end_seconds * 1e6),
                     fmt::format("{:.2f}", step.waited_seconds * 1e6), std::to_string(name.rank),
                     std::to_string(name.lane), std::to_string(step.slice.step),
                     std::to_string(step.slice.slice)});
  }
  if (skipped > 0) text += fmt::format("(the last {} of them)\n", kMostPathLines);
  return text + FormatTable(table);
}

std::string PredictionTable(const PredictionReport& report, std::uint64_t gated_bytes) {
  std::vector<std::vector<std::string>> table = {
      {"collective", "size", "ranks", "mode", "choice", "measured_us", "predicted_us", "error"}};
  for (const PredictedRow& each : report.rows) {
    table.push_back({std::string(Name(each.row.collective)), FormatSize(each.row.size_bytes),
                     std::to_string(each.row.ranks), each.row.mode, VariantOf(each.row),
                     fmt::format("{:.1f}", each.measured_us),
                     fmt::format("{:.1f}", each.predicted_us),
                     fmt::format("{:+.1f} %", 100 * each.error())});
  }
  std::string text = FormatTable(table);
  for (const std::string& reason : report.left_out) text += "left out: " + reason + "\n";
  if (!report.median_error) {
    return text + fmt::format("no row of {} or more\n", FormatSize(gated_bytes));
  }
  return text + fmt::format("{} rows of {} or more: median error {:.1f} %, p95 {:.1f} %\n",
                            report.gated, FormatSize(gated_bytes), 100 * *report.median_error,
                            100 * *report.p95_error);
}

}  // namespace hockney
