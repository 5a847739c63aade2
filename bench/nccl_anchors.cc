#include "bench/nccl_anchors.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "bench/sizes.h"
#include "bench/text_table.h"
#include "topology/cluster_preset.h"
#include "tuner/bandwidth.h"
#include "tuner/nccl/cost_model.h"

namespace hockney {
namespace {

constexpr double kBar = 0.15;
constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

constexpr const char* kBook = "ml-engineering";
constexpr const char* kEfa = "ml-engineering, EFA 400 Gb/s";

std::vector<NcclAnchor> OneNode() {
  std::vector<NcclAnchor> anchors = {
      {.cluster = "h100", .source = "nccl-tests #212, peak", .busbw_GBps = 480},
      {.cluster = "h100", .source = "nccl-tests #212, peak", .nvls = false, .busbw_GBps = 370},
      {.cluster = "h100", .source = "nccl-tests #290", .busbw_GBps = 476},
      {.cluster = "h200", .source = kBook, .busbw_GBps = 482.3},
      {.cluster = "h200", .source = kBook, .nvls = false, .busbw_GBps = 367.6},
      {.cluster = "h200",
       .source = kBook,
       .collective = Collective::kAllGather,
       .busbw_GBps = 361.4},
      {.cluster = "h200",
       .source = kBook,
       .collective = Collective::kReduceScatter,
       .busbw_GBps = 362.9},
      {.cluster = "b200", .source = kBook, .nvls = false, .busbw_GBps = 682},
  };
  for (NcclAnchor& each : anchors) {
    each.ranks = 8;
    each.bytes = 16 * kGiB;
  }
  constexpr std::pair<std::int64_t, double> kByRanks[] = {
      {4, 363}, {5, 414}, {6, 436}, {7, 460}, {8, 473}};
  for (const auto& [ranks, busbw] : kByRanks) {
    anchors.push_back({.cluster = "h200",
                       .source = kBook,
                       .ranks = ranks,
                       .bytes = 8 * kGiB,
                       .busbw_GBps = busbw});
  }
  constexpr std::pair<std::uint64_t, double> kBySize[] = {
      {32 * kKiB, 1.2}, {256 * kKiB, 9.5}, {kMiB, 36},  {4 * kMiB, 76},   {16 * kMiB, 255},
      {64 * kMiB, 401}, {256 * kMiB, 646}, {kGiB, 723}, {16 * kGiB, 846},
  };
  for (const auto& [bytes, busbw] : kBySize) {
    anchors.push_back(
        {.cluster = "b200", .source = kBook, .ranks = 8, .bytes = bytes, .busbw_GBps = busbw});
  }
  return anchors;
}

std::vector<NcclAnchor> Nodes() {
  std::vector<NcclAnchor> anchors = {{.cluster = "h100",
                                      .source = "nccl #2409, expected",
                                      .ranks = 16,
                                      .bytes = 16 * kGiB,
                                      .busbw_GBps = 470}};
  constexpr std::pair<std::uint64_t, double> kBySize[] = {
      {32 * kKiB, 0.01}, {kMiB, 5.4}, {16 * kMiB, 64},    {64 * kMiB, 157},
      {256 * kMiB, 229}, {kGiB, 362}, {16 * kGiB, 381.8},
  };
  for (const auto& [bytes, busbw] : kBySize) {
    anchors.push_back(
        {.cluster = "b200", .source = kEfa, .ranks = 32, .bytes = bytes, .busbw_GBps = busbw});
  }
  anchors.push_back({.cluster = "h200",
                     .source = "nccl-tests #283",
                     .ranks = 1984,
                     .bytes = 512'000'000,
                     .busbw_GBps = 350});
  return anchors;
}

// Read off a figure.
std::vector<NcclAnchor> SmallCalls() {
  struct Point {
    std::int64_t ranks = 0;
    std::uint64_t bytes = 0;
    double time_us = 0;
  };
  constexpr Point kPoints[] = {
      {8, kKiB, 15},  {8, 16 * kKiB, 16}, {8, 256 * kKiB, 18.5}, {8, kMiB, 24},
      {16, kKiB, 35}, {16, 8 * kKiB, 42}, {16, 128 * kKiB, 50},  {16, 512 * kKiB, 88},
  };
  std::vector<NcclAnchor> anchors;
  anchors.reserve(std::size(kPoints));
  for (const Point& point : kPoints) {
    anchors.push_back({.cluster = "h100",
                       .source = "MSCCL++ figure",
                       .ranks = point.ranks,
                       .bytes = point.bytes,
                       .time_us = point.time_us});
  }
  return anchors;
}

NcclComparison Compare(NcclAnchor anchor) {
  NcclComparison comparison{.anchor = std::move(anchor)};
  const NcclAnchor& of = comparison.anchor;
  comparison.prediction = nccl::Predict(
      FindClusterPreset(of.cluster),
      {.collective = of.collective, .ranks = of.ranks, .bytes = of.bytes}, {.nvls = of.nvls});
  comparison.busbw_GBps = RateGBps(of.bytes, comparison.prediction.time_us()) *
                          BusFactor(of.collective, static_cast<int>(of.ranks)).value();
  comparison.error = of.time_us > 0 ? comparison.prediction.time_us() / of.time_us - 1
                                    : comparison.busbw_GBps / of.busbw_GBps - 1;
  return comparison;
}

}  // namespace

bool NcclComparison::is_gated() const { return anchor.bytes >= 256 * kMiB; }
bool NcclComparison::is_met() const { return std::abs(error) <= kBar; }

std::vector<NcclComparison> CompareNcclAnchors() {
  std::vector<NcclComparison> comparisons;
  for (const auto& anchors : {OneNode(), Nodes(), SmallCalls()}) {
    comparisons.reserve(comparisons.size() + anchors.size());
    for (const NcclAnchor& each : anchors) comparisons.push_back(Compare(each));
  }
  return comparisons;
}

std::string NcclAnchorTable() {
  std::vector<std::vector<std::string>> rows = {{"cluster", "GPUs", "collective", "size", "NVLS",
                                                 "published", "predicted", "error", "within 15 %",
                                                 "by", "bound", "source"}};
  int gated = 0;
  int met = 0;
  for (const NcclComparison& each : CompareNcclAnchors()) {
    const NcclAnchor& anchor = each.anchor;
    const bool is_time = anchor.time_us > 0;
    gated += each.is_gated() ? 1 : 0;
    met += each.is_gated() && each.is_met() ? 1 : 0;
    rows.push_back(
        {anchor.cluster, std::to_string(anchor.ranks), std::string(Name(anchor.collective)),
         FormatSize(anchor.bytes), anchor.nvls ? "on" : "off",
         is_time ? fmt::format("{:g} us", anchor.time_us) : fmt::format("{:g}", anchor.busbw_GBps),
         is_time ? fmt::format("{:.1f} us", each.prediction.time_us())
                 : fmt::format("{:.4g}", each.busbw_GBps),
         fmt::format("{:+.1f} %", 100 * each.error),
         !each.is_gated() ? "-"
         : each.is_met()  ? "yes"
                          : "NO",
         fmt::format("{} {}", nccl::Name(each.prediction.algorithm),
                     nccl::Name(each.prediction.protocol)),
         each.prediction.bound, anchor.source});
  }
  return FormatTable(rows) +
         fmt::format(
             "\nbusbw in GB/s, or times. {} of {} figures of at least 256 MiB are met within 15 %. "
             "None of "
             "the published figures was used for a preset or for a constant of the model; presets "
             "hold point-to-point rates only. \"expected\" and \"peak\" are their sources' words, "
             "set here at 16 GiB\n",
             met, gated);
}

}  // namespace hockney
