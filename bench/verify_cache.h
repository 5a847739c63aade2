#pragma once

#include <map>
#include <string>

#include "collectives/algorithms.h"
#include "collectives/flow.h"

namespace hockney {

// Verdicts by (row, shape, flow), so that each is proved once a run.
class VerifyCache {
 public:
  // Returns "yes", "sampled" (proved for fewer pieces, or the budget ended first), or the fault's
  // text after "fault: ".
  std::string Check(const Algorithm& row, const Counts& counts, DataType type,
                    const CallFlow& flow);

 private:
  std::map<std::string, std::string> verdicts_;
};

}  // namespace hockney
