#include "tuner/select/shape_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace hockney {
namespace {

double OnLine(const SizePoint& low, const SizePoint& high, double bytes) {
  const double slope = (high.seconds - low.seconds) / (high.bytes - low.bytes);
  return low.seconds + slope * (bytes - low.bytes);
}

SizePoint PointOf(std::uint64_t bytes, double us) {
  return {.bytes = static_cast<double>(bytes), .seconds = us / 1e6};
}

}  // namespace

ShapeTimes::ShapeTimes(const MeasuredTable& table) {
  std::map<Choice, std::vector<SizePoint>> curves;
  sizes_.reserve(table.cells.size());
  for (const auto& [bytes, cell] : table.cells) {
    sizes_.push_back(bytes);
    medians_[bytes] = LevelMedians(cell);
    for (const auto& [choice, us] : medians_[bytes]) curves[choice].push_back(PointOf(bytes, us));
  }
  for (const auto& [choice, points] : curves) {
    try {
      fits_.emplace(choice, FitPiecewise(points).line);
    } catch (const std::invalid_argument&) {
      continue;  // lines between its points will do
    }
  }
}

std::map<Choice, double> ShapeTimes::At(std::uint64_t bytes) const {
  const auto known = medians_.find(bytes);
  if (known != medians_.end()) return known->second;
  const auto high = medians_.upper_bound(bytes);
  if (high == medians_.begin() || high == medians_.end()) return Outside(bytes);
  const std::uint64_t low_bytes = std::prev(high)->first;
  std::map<Choice, double> times;
  for (const auto& [choice, us] : high->second) {
    const auto low_us = Lower(choice, low_bytes);
    if (!low_us) continue;
    times[choice] = Between(choice, PointOf(low_bytes, *low_us), PointOf(high->first, us),
                            static_cast<double>(bytes));
  }
  return times;
}

std::optional<double> ShapeTimes::Lower(const Choice& choice, std::uint64_t bytes) const {
  const auto& times = medians_.at(bytes);
  const auto found = times.find(choice);
  if (found != times.end()) return found->second;
  std::optional<double> least;
  for (const auto& [other, us] : times) {
    if (SameSchedule(choice, other)) least = std::min(us, least.value_or(us));
  }
  return least;
}

double ShapeTimes::Between(const Choice& choice, const SizePoint& low, const SizePoint& high,
                           double bytes) const {
  const auto fit = fits_.find(choice);
  if (fit == fits_.end()) return OnLine(low, high, bytes) * 1e6;
  // What the fit misses at both ends is shared out by the logarithm of the size.
  const double part = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  const double at_low = std::log(low.seconds / fit->second.Seconds(low.bytes));
  const double at_high = std::log(high.seconds / fit->second.Seconds(high.bytes));
  return fit->second.Seconds(bytes) * std::exp(at_low + part * (at_high - at_low)) * 1e6;
}

std::map<Choice, double> ShapeTimes::Outside(std::uint64_t bytes) const {
  if (medians_.empty()) return {};
  const bool below = bytes < sizes_.front();
  const std::uint64_t nearest = below ? sizes_.front() : sizes_.back();
  std::map<Choice, double> times = medians_.at(nearest);
  for (auto& [choice, us] : times) {
    // Above the largest size times grow in proportion unless two sizes say otherwise.
    double slope = below ? 0 : us / static_cast<double>(nearest);
    if (sizes_.size() > 1) {
      const std::uint64_t next = below ? sizes_[1] : sizes_[sizes_.size() - 2];
      const auto other = medians_.at(next).find(choice);
      if (other != medians_.at(next).end()) {
        slope = (us - other->second) / (static_cast<double>(nearest) - static_cast<double>(next));
      }
    }
    // Never below half of the nearest time: nothing is known out there.
    const double there =
        us + std::max(slope, 0.0) * (static_cast<double>(bytes) - static_cast<double>(nearest));
    us = std::max(there, us / 2);
  }
  return times;
}

}  // namespace hockney
