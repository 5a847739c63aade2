#pragma once

#include <cstddef>

#include "bench/competitors.h"

namespace hockney {

// The rows that the groups of a run have of one competitor as one: the row of the slowest group,
// or of the first that was not measured or failed, with the elements wrong in all and the times of
// all ranks.
class MergedGroups {
 public:
  void Add(const Competitor& group);
  std::size_t count() const { return count_; }
  const Competitor& all() const { return all_; }

 private:
  Competitor all_;
  std::size_t count_ = 0;
};

}  // namespace hockney
