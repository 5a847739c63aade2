#pragma once

#include <vector>

namespace hockney {

// The iterations of one side of a row (-I 1).
struct IterationTimes {
  int skipped = 0;  // -K: iterations at the start that the statistics leave out
  // Of each iteration, the skipped ones too, the greatest time of any rank; a call's share of it.
  std::vector<double> times_us = {};
  // The same of each process ([process][iteration]), the greatest of its rank threads. May be
  // empty.
  std::vector<std::vector<double>> process_times_us = {};
};

// nccl-tests' statistics, so that numbers can be set side by side: p50 is the upper of two middle
// ones, p95 and p99 are nearest rank, stdev divides by the number of samples.
struct IterationStats {
  double min_us = 0;
  double max_us = 0;
  double avg_us = 0;
  double p50_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double stdev_us = 0;
  double cv_percent = 0;  // stdev over average
};

// Throws std::invalid_argument unless at least one iteration is left over.
IterationStats SummarizeIterations(const IterationTimes& times);

}  // namespace hockney
