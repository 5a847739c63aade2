#include "tuner/select/shape_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hockney {
namespace {

struct Point {
  std::uint64_t bytes = 0;
  double us = 0;
};

double Between(const Point& low, const Point& high, std::uint64_t bytes) {
  const auto x = static_cast<double>(bytes);
  const auto x_low = static_cast<double>(low.bytes);
  const auto x_high = static_cast<double>(high.bytes);
  const double line = low.us + (x - x_low) / (x_high - x_low) * (high.us - low.us);
  const double power =
      low.us * std::pow(high.us / low.us, std::log(x / x_low) / std::log(x_high / x_low));
  return std::sqrt(line * power);
}

}  // namespace

ShapeTimes::ShapeTimes(const MeasuredTable& table) {
  sizes_.reserve(table.cells.size());
  for (const auto& [bytes, cell] : table.cells) {
    sizes_.push_back(bytes);
    medians_[bytes] = LevelMedians(cell);
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
    times[choice] = Between({low_bytes, *low_us}, {high->first, us}, bytes);
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
