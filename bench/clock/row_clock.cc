#include "bench/clock/row_clock.h"

#include <cstddef>

#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr double kMostErrorOfTime = 0.05;

}  // namespace

bool IsClockTooUncertain(const Competitor& row) {
  return row.clock_error_us > 0 && row.clock_error_us > kMostErrorOfTime * Median(row.times_us);
}

void UseLocalTimes(Competitor& row, const std::string& reason) {
  row.times_us = row.local_us;
  for (std::size_t i = 0; i < row.samples.size(); ++i) row.samples[i].time_us = row.local_us[i];
  row.skews_ns.clear();  // says as little as the times would
  row.row.clock = Name(ClockKind::kLocal);
  if (!row.row.reason.empty()) row.row.reason += "; ";
  row.row.reason += reason;
}

}  // namespace hockney
