#include "bench/links/link_survey.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "bench/links/link_curve.h"
#include "bench/links/link_pairs.h"
#include "bench/links/measured_racks.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

constexpr int kSmallMessages = 64;          // in a row, for gap and overhead
constexpr std::uint64_t kSmallBytes = 128;  // of each: chunks are cut at such offsets
constexpr int kMostMatrixRanks = 16;        // unless all pairs are asked for
constexpr std::uint64_t kMatrixBytes = std::uint64_t{1} << 20;

class Survey {
 public:
  Survey(LinkRunner& runner, const Topology& topology, const LinkOptions& options,
         const std::function<void(const LinkRow&)>& emit)
      : runner_(runner), topology_(topology), options_(options), emit_(emit) {}

  LinkFindings Run();

 private:
  void MeasureLevel(Level level);
  void MeasureTogether(const std::vector<RankPair>& pairs, LevelFindings& found);
  void MeasureSmall(const RankPair& pair, LevelFindings& found);
  void MeasureMatrix(std::uint64_t bytes);
  void Confirm(PairMatrix& matrix);
  void MeasureCross(const std::string& what, const std::vector<RankPair>& pairs);
  // `share` of a point's budget.
  Summary Measure(const LinkTask& task, Level level, bool emits, double share = 1);

  LinkRunner& runner_;
  const Topology& topology_;
  const LinkOptions& options_;
  const std::function<void(const LinkRow&)>& emit_;
  LinkFindings findings_;
};

Summary Survey::Measure(const LinkTask& task, Level level, bool emits, double share) {
  const Summary summary = runner_.Measure(task, share * options_.budget_seconds);
  if (!emits) return summary;
  const auto [a, b] = task.pairs.front();
  LinkRow row;
  row.level = Name(level);
  row.rank_a = a;
  row.rank_b = b;
  row.host_a = topology_.host_name(topology_.node_of_rank(a));
  row.host_b = topology_.host_name(topology_.node_of_rank(b));
  row.size_bytes = task.bytes;
  row.pairs = static_cast<std::int64_t>(task.pairs.size());
  row.duplex = task.pattern == LinkPattern::kDuplex;
  row.time_us_median = summary.median;
  if (summary.ci_confident) {
    row.time_us_ci_low = summary.ci_low;
    row.time_us_ci_high = summary.ci_high;
  }
  emit_(row);
  return summary;
}

// Twice as many pairs each time, and all at last.
void Survey::MeasureTogether(const std::vector<RankPair>& pairs, LevelFindings& found) {
  found.together.push_back({1, RateGBps(found.largest_bytes, found.largest_us)});
  for (std::size_t count = 2; !runner_.interrupted(); count = std::min(2 * count, pairs.size())) {
    if (count > pairs.size()) return;
    LinkTask task{.bytes = found.largest_bytes};
    task.pairs.assign(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(count));
    const Summary s = Measure(task, found.level, true);
    found.together.push_back({static_cast<int>(count), RateGBps(task.bytes * count, s.median)});
    if (count == pairs.size()) return;
  }
}

void Survey::MeasureSmall(const RankPair& pair, LevelFindings& found) {
  LinkTask task{.pattern = LinkPattern::kStream, .pairs = {pair}, .bytes = kSmallBytes};
  const double one = Measure(task, found.level, false).median;
  task.messages = kSmallMessages;
  const double many = Measure(task, found.level, false).median;
  found.gap_us = std::max(0.0, (many - one) / (kSmallMessages - 1));
  task.pattern = LinkPattern::kPost;
  found.overhead_us = Measure(task, found.level, false).median / kSmallMessages;
}

void Survey::MeasureLevel(Level level) {
  const std::vector<RankPair> pairs = PairsOfLevel(topology_, level);
  if (pairs.empty()) return;  // nothing to measure, so nothing to say
  LevelFindings found{.level = level, .pair = pairs.front()};
  const auto measure = [&](std::uint64_t bytes) -> std::optional<double> {
    if (runner_.interrupted()) return std::nullopt;
    const LinkTask task{.pairs = {pairs.front()}, .bytes = bytes};
    return Measure(task, level, true, 1.0 / kCurvePasses).median;
  };
  const std::vector<CurvePoint> curve =
      MeasureCurve(options_.least_bytes, options_.most_bytes, measure);
  const CurvePoint& last = curve.back();
  found.latency_us = curve.front().us;
  found.largest_bytes = last.bytes;
  found.largest_us = last.us;
  found.rate_GBps = RateOfMore(curve);
  if (!runner_.interrupted()) {
    const LinkTask both{
        .pattern = LinkPattern::kDuplex, .pairs = {pairs.front()}, .bytes = last.bytes};
    found.duplex_ratio = Measure(both, level, true).median / last.us;
    MeasureSmall(pairs.front(), found);
    MeasureTogether(pairs, found);
  }
  findings_.levels.push_back(std::move(found));
}

void Survey::MeasureMatrix(std::uint64_t bytes) {
  const int ranks = topology_.ranks();
  const std::vector<double> none(ranks, std::numeric_limits<double>::quiet_NaN());
  PairMatrix matrix{.bytes = bytes};
  matrix.time_us.assign(ranks, none);
  matrix.low_us.assign(ranks, none);
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks && !runner_.interrupted(); ++b) {
      const LinkTask task{.pairs = {{a, b}}, .bytes = bytes};
      const Summary s = Measure(task, topology_.LevelBetween(a, b), true);
      matrix.time_us[a][b] = matrix.time_us[b][a] = s.median;
      matrix.low_us[a][b] = matrix.low_us[b][a] = s.ci_low;
    }
  }
  Confirm(matrix);
  for (const SlowPair& slow : FindSlowPairs(matrix, topology_)) findings_.slow.push_back(slow);
  findings_.matrices.push_back(std::move(matrix));
}

// Measures the pairs that look slow once more, after all others: what disturbed one measurement is
// over by then, a slow link is not.
void Survey::Confirm(PairMatrix& matrix) {
  for (const SlowPair& slow : FindSlowPairs(matrix, topology_)) {
    if (runner_.interrupted()) return;
    const auto [a, b] = std::pair(slow.rank_a, slow.rank_b);
    const Summary s = Measure({.pairs = {{a, b}}, .bytes = matrix.bytes}, slow.level, true);
    if (s.median >= matrix.time_us[a][b]) continue;
    matrix.time_us[a][b] = matrix.time_us[b][a] = s.median;
    matrix.low_us[a][b] = matrix.low_us[b][a] = s.ci_low;
  }
}

void Survey::MeasureCross(const std::string& what, const std::vector<RankPair>& pairs) {
  if (pairs.empty() || runner_.interrupted()) return;
  const auto [a, b] = pairs.front();
  const Level level = topology_.LevelBetween(a, b);
  std::uint64_t bytes = options_.most_bytes;
  for (const LevelFindings& found : findings_.levels) {
    if (found.level == level) bytes = found.largest_bytes;
  }
  const Summary s = Measure({.pairs = pairs, .bytes = bytes}, level, true);
  findings_.cross.push_back({.what = what,
                             .pairs = static_cast<int>(pairs.size()),
                             .bytes = bytes,
                             .time_us = s.median,
                             .rate_GBps = RateGBps(bytes * pairs.size(), s.median)});
}

LinkFindings Survey::Run() {
  for (const Level level : kAllLevels) {
    if (level != Level::kSelf && !runner_.interrupted()) MeasureLevel(level);
  }
  if (options_.pairs || topology_.ranks() <= kMostMatrixRanks) {
    MeasureMatrix(options_.least_bytes);
    if (!options_.ranks_share_cores) {
      findings_.measured_racks = RacksByLatency(findings_.matrices[0], topology_);
    }
    MeasureMatrix(std::min(kMatrixBytes, options_.most_bytes));
  }
  if (options_.rails) MeasureCross("rails", RailPairs(topology_));
  if (options_.bisect) MeasureCross("bisection", BisectionPairs(topology_));
  findings_.finished = !runner_.interrupted();
  return std::move(findings_);
}

}  // namespace

LinkFindings SurveyLinks(LinkRunner& runner, const Topology& topology, const LinkOptions& options,
                         const std::function<void(const LinkRow&)>& emit) {
  return Survey(runner, topology, options, emit).Run();
}

std::vector<SlowPair> FindSlowPairs(const PairMatrix& matrix, const Topology& topology) {
  constexpr std::size_t kLeastPairs = 4;
  constexpr double kLeastShare = 0.1;
  constexpr double kDeviations = 3;
  const int ranks = topology.ranks();
  std::map<Level, std::vector<double>> times;
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      if (std::isfinite(matrix.time_us[a][b])) {
        times[topology.LevelBetween(a, b)].push_back(matrix.time_us[a][b]);
      }
    }
  }
  std::vector<SlowPair> slow;
  for (const auto& [level, all] : times) {
    if (all.size() < kLeastPairs) continue;
    const double usual = Median(all);
    std::vector<double> deviations;
    deviations.reserve(all.size());
    for (const double time : all) deviations.push_back(std::abs(time - usual));
    const double limit = usual + std::max(kLeastShare * usual, kDeviations * Median(deviations));
    for (int a = 0; a < ranks; ++a) {
      for (int b = a + 1; b < ranks; ++b) {
        if (topology.LevelBetween(a, b) != level || !(matrix.low_us[a][b] > limit)) continue;
        slow.push_back({a, b, level, matrix.bytes, matrix.time_us[a][b], usual});
      }
    }
  }
  return slow;
}

}  // namespace hockney
