#include "bench/row_statistics.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tuner/bandwidth.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

std::int64_t MostOftenSlowest(const std::vector<SampleRow>& samples) {
  std::map<std::int64_t, int> counts;  // by rank of the run
  for (const SampleRow& sample : samples) ++counts[sample.slowest_rank.value_or(0)];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

void FinishRow(Competitor& competitor, int ranks) {
  SweepRow& row = competitor.row;
  if (competitor.times_us.empty()) {
    if (row.status == Status::kOk) {
      row.status = Status::kSkipped;
      row.reason = "interrupted before the first sample";
    }
    return;
  }
  const Summary summary = Summarize(competitor.times_us);
  row.samples = summary.samples;
  row.time_us_median = summary.median;
  if (summary.ci_confident) {  // fewer than 6 samples have no 95 % interval
    row.time_us_ci_low = summary.ci_low;
    row.time_us_ci_high = summary.ci_high;
  }
  row.time_us_min = summary.min;
  row.time_us_mean = summary.mean;
  row.time_us_p95 = summary.p95;
  row.time_us_p99 = summary.p99;
  if (!competitor.skews_ns.empty()) row.entry_skew_ns = Median(competitor.skews_ns);
  row.slowest_rank = MostOftenSlowest(competitor.samples);
  if (row.size_bytes == 0 || summary.median <= 0) return;
  row.algbw_GBps = static_cast<double>(row.size_bytes) / summary.median / 1e3;
  const std::optional<double> factor = BusFactor(row.collective, ranks);
  if (factor) row.busbw_GBps = *row.algbw_GBps * *factor;
}

}  // namespace hockney
