#include "bench/links/link_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/links/measured_racks.h"
#include "bench/sizes.h"
#include "bench/text_table.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

std::string PairText(const Topology& topology, int a, int b) {
  const std::string& host_a = topology.host_name(topology.node_of_rank(a));
  const std::string& host_b = topology.host_name(topology.node_of_rank(b));
  return host_a == host_b ? fmt::format("{}-{} on {}", a, b, host_a)
                          : fmt::format("{}-{} ({}, {})", a, b, host_a, host_b);
}

std::string LevelTable(const LinkFindings& findings, const Topology& topology) {
  std::vector<std::vector<std::string>> rows = {
      {"level", "ranks", "latency_us", "GB/s", "largest", "duplex", "gap_us", "overhead_us"}};
  for (const LevelFindings& f : findings.levels) {
    rows.push_back({std::string(Name(f.level)), PairText(topology, f.pair.first, f.pair.second),
                    fmt::format("{:.2f}", f.latency_us), fmt::format("{:.4f}", f.rate_GBps),
                    FormatSize(f.largest_bytes), fmt::format("{:.2f}x", f.duplex_ratio),
                    fmt::format("{:.2f}", f.gap_us), fmt::format("{:.2f}", f.overhead_us)});
  }
  return FormatTable(rows);
}

std::string TogetherTable(const LinkFindings& findings) {
  std::vector<std::vector<std::string>> rows = {{"across", "pairs", "message", "GB/s"}};
  for (const LevelFindings& f : findings.levels) {
    for (const auto& together : f.together) {
      if (f.together.size() < 2) continue;
      rows.push_back({std::string(Name(f.level)), std::to_string(together.pairs),
                      FormatSize(f.largest_bytes), fmt::format("{:.4f}", together.rate_GBps)});
    }
  }
  for (const CrossFindings& f : findings.cross) {
    rows.push_back(
        {f.what, std::to_string(f.pairs), FormatSize(f.bytes), fmt::format("{:.4f}", f.rate_GBps)});
  }
  if (rows.size() == 1) return "";
  return "\npairs at once, their rates together\n" + FormatTable(rows);
}

std::string MatrixText(const PairMatrix& matrix, bool as_rate) {
  const std::size_t ranks = matrix.time_us.size();
  std::vector<std::vector<std::string>> rows = {{"rank"}};
  for (std::size_t b = 0; b < ranks; ++b) rows[0].push_back(std::to_string(b));
  for (std::size_t a = 0; a < ranks; ++a) {
    rows.push_back({std::to_string(a)});
    for (std::size_t b = 0; b < ranks; ++b) {
      const double us = matrix.time_us[a][b];
      const double value = as_rate ? static_cast<double>(matrix.bytes) / us / 1e3 : us;
      rows.back().push_back(!std::isfinite(us) ? "-"
                            : as_rate          ? fmt::format("{:.3f}", value)
                                               : fmt::format("{:.2f}", value));
    }
  }
  return fmt::format("\n{} of {} bytes between ranks\n{}", as_rate ? "GB/s" : "us",
                     FormatSize(matrix.bytes), FormatTable(rows));
}

std::string SlowText(const LinkFindings& findings, const Topology& topology) {
  std::string text;
  for (const SlowPair& slow : findings.slow) {
    text += fmt::format("slow: ranks {}: {} bytes take {:.2f} us, usually {:.2f} at level {}\n",
                        PairText(topology, slow.rank_a, slow.rank_b), FormatSize(slow.bytes),
                        slow.time_us, slow.level_us, Name(slow.level));
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string LinksText(const LinkFindings& findings, const Topology& topology) {
  std::string text = LevelTable(findings, topology) + TogetherTable(findings);
  for (std::size_t i = 0; i < findings.matrices.size(); ++i) {
    text += MatrixText(findings.matrices[i], i > 0);
  }
  text += SlowText(findings, topology) + MeasuredRacksText(findings.measured_racks, topology);
  text +=
      "\nlatency: half a round trip of the smallest message; GB/s: what more bytes take, between "
      "the largest size and one of half of it; duplex: time of both directions at once over that "
      "of one, 1.00x is a link that loses nothing; gap: between small messages that follow each "
      "other; overhead: the sender's time for one\n";
  return text;
}

Json LinksJson(const LinkFindings& findings) {
  Json result = {
      {"levels", Json::array()}, {"slow_pairs", Json::array()}, {"across", Json::array()}};
  for (const LevelFindings& f : findings.levels) {
    Json together = Json::array();
    for (const auto& each : f.together) {
      together.push_back({{"pairs", each.pairs}, {"rate_GBps", each.rate_GBps}});
    }
    result["levels"].push_back({{"level", Name(f.level)},
                                {"rank_a", f.pair.first},
                                {"rank_b", f.pair.second},
                                {"latency_us", f.latency_us},
                                {"rate_GBps", f.rate_GBps},
                                {"largest_bytes", f.largest_bytes},
                                {"largest_us", f.largest_us},
                                {"duplex_ratio", f.duplex_ratio},
                                {"gap_us", f.gap_us},
                                {"overhead_us", f.overhead_us},
                                {"together", together}});
  }
  for (const SlowPair& slow : findings.slow) {
    result["slow_pairs"].push_back({{"rank_a", slow.rank_a},
                                    {"rank_b", slow.rank_b},
                                    {"level", Name(slow.level)},
                                    {"size_bytes", slow.bytes},
                                    {"time_us", slow.time_us},
                                    {"level_us", slow.level_us}});
  }
  for (const CrossFindings& f : findings.cross) {
    result["across"].push_back({{"what", f.what},
                                {"pairs", f.pairs},
                                {"size_bytes", f.bytes},
                                {"time_us", f.time_us},
                                {"rate_GBps", f.rate_GBps}});
  }
  return result;
}

}  // namespace hockney
