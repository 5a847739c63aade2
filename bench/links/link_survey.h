#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/links/link_runner.h"
#include "topology/topology.h"
#include "tuner/records.h"

namespace hockney {

// Sizes are least_bytes times powers of 2, most_bytes, and some between (MeasureCurve).
struct LinkOptions {
  std::uint64_t least_bytes = 8;
  std::uint64_t most_bytes = std::uint64_t{16} << 20;
  double budget_seconds = 0.05;  // a size, all measurements of it together
  bool pairs = false;            // measure all pairs of ranks, however many
  bool rails = false;
  bool bisect = false;
  bool ranks_share_cores = false;  // then latencies say nothing of racks
};

// What was found of one level. Times in us, rates in GB/s (1e9 bytes).
struct LevelFindings {
  Level level = Level::kNode;
  std::pair<int, int> pair{};  // of ranks, that was measured
  double latency_us = 0;       // of the smallest message
  // By which more bytes take longer, RateOfMore: what a token bucket lets through at once, and the
  // latency, are not in it.
  double rate_GBps = 0;
  std::uint64_t largest_bytes = 0;
  double largest_us = 0;
  double duplex_ratio = 1;  // time of both directions at once over that of one, largest message
  double gap_us = 0;        // between small messages that follow each other
  double overhead_us = 0;   // of the sender for a small message
  struct Together {
    int pairs = 1;
    double rate_GBps = 0;  // of all pairs
  };
  std::vector<Together> together = {};  // largest message, ascending
};

// One value a pair of ranks, in both orders alike; NaN where nothing was measured.
struct PairMatrix {
  std::uint64_t bytes = 0;
  std::vector<std::vector<double>> time_us = {};
  std::vector<std::vector<double>> low_us = {};  // of the interval
};

// A pair that is slower than the others of its level by more than they differ.
struct SlowPair {
  int rank_a = 0;
  int rank_b = 0;
  Level level = Level::kNode;
  std::uint64_t bytes = 0;
  double time_us = 0;
  double level_us = 0;  // the median of its level
};

// Several pairs at once across the whole job.
struct CrossFindings {
  std::string what;  // "rails", "bisection"
  int pairs = 0;
  std::uint64_t bytes = 0;
  double time_us = 0;
  double rate_GBps = 0;  // of all
};

struct LinkFindings {
  std::vector<LevelFindings> levels = {};
  std::vector<PairMatrix> matrices = {};
  std::vector<SlowPair> slow = {};
  std::vector<CrossFindings> cross = {};
  SwitchTree measured_racks = {};  // that latencies show
  bool finished = true;            // false: the user ended it
};

// Measures the levels of `topology` that two ranks of this run have between them, near first.
// `emit` gets rows as they are finished, on rank 0. Collective; every rank gets the same.
LinkFindings SurveyLinks(LinkRunner& runner, const Topology& topology, const LinkOptions& options,
                         const std::function<void(const LinkRow&)>& emit);

// Pairs of `matrix` whose interval lies above the median of their level by more than a tenth and
// than three times the level's median deviation. A level needs four pairs to have a usual time.
std::vector<SlowPair> FindSlowPairs(const PairMatrix& matrix, const Topology& topology);

}  // namespace hockney
