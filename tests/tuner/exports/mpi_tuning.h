#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tuner/select/tuning.h"

namespace hockney::testing {

inline constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

// A rule of MPI from `min` on; the table's maker sets its end.
inline TuningRule MpiRuleFrom(std::uint64_t min, const std::string& algorithm,
                              const std::string& parameters = "library=Open MPI 4.1.4") {
  return {
      .min_bytes = min, .implementation = "mpi", .algorithm = algorithm, .parameters = parameters};
}

// A table as `hockney tune` makes it: each rule ends where the next begins.
inline TuningTable MpiTable(Collective collective, std::int64_t ranks,
                            std::vector<TuningRule> rules) {
  for (std::size_t i = 0; i + 1 < rules.size(); ++i) {
    rules[i].max_bytes = rules[i + 1].min_bytes - 1;
  }
  return {.collective = collective,
          .ranks = ranks,
          .dtype = "float32",
          .op = "sum",
          .memory_kind = "host",
          .mode = "isolated",
          .rules = std::move(rules)};
}

}  // namespace hockney::testing
