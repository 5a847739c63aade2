#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuner/select/measured.h"

namespace hockney {

// What a table says of any size: at measured ones the levelled medians, elsewhere curves between
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
  // same schedule. In between, the geometric mean of the line and the power of the size through
  // both times: the one holds within a regime, the other where regimes (a cache, a protocol)
  // change. Held-out sizes of results/host_bars are missed by as much with the line alone, those of
  // results/peer_comparison twice to four times as much. Below the smallest and above the largest
  // size: the nearest size's choices, and as much faster or slower than there as the nearest line
  // is, at least half of it.
  std::map<Choice, double> At(std::uint64_t bytes) const;

 private:
  std::optional<double> Lower(const Choice& choice, std::uint64_t bytes) const;
  std::map<Choice, double> Outside(std::uint64_t bytes) const;

  std::vector<std::uint64_t> sizes_;
  std::map<std::uint64_t, std::map<Choice, double>> medians_;
};

}  // namespace hockney
