#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuner/select/measured.h"

namespace hockney {

// What a table says of any size: at measured ones the levelled medians, elsewhere the lines between
// them. All times in us.
class ShapeTimes {
 public:
  explicit ShapeTimes(const MeasuredTable& table);

  // Ascending.
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }
  bool is_measured(std::uint64_t bytes) const { return medians_.contains(bytes); }

  // The choices that are known to be worth a thought at `bytes`, with their times. Between two
  // measured sizes those of the larger one: a choice that nobody measured there any more had lost
  // before. Where the smaller size lacks it, it is taken to be as fast there as the fastest of the
  // same schedule. In between, the line through both times; fits of whole curves (piecewise.h) bent
  // to meet both did worse: held-out sizes of results/host_bars, whose grid is coarse, cost 16.9 %
  // at most instead of 6.3 %. Below the smallest and above the largest size: the nearest size's
  // choices, and as much faster or slower than there as the nearest line is, at least half of it.
  std::map<Choice, double> At(std::uint64_t bytes) const;

 private:
  std::optional<double> Lower(const Choice& choice, std::uint64_t bytes) const;
  std::map<Choice, double> Outside(std::uint64_t bytes) const;

  std::vector<std::uint64_t> sizes_;
  std::map<std::uint64_t, std::map<Choice, double>> medians_;
};

}  // namespace hockney
