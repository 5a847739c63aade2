#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/placement.h"
#include "tuner/model/model.h"
#include "tuner/simulate/machine.h"
#include "tuner/training/simulate_step.h"

namespace hockney {

// Collectives as the simulator times them on a machine, by the algorithms that steps use
// (ChooseForStep). What a shaped link lets through at once fills up again while the links are idle.
class SimulatedClock : public CollectiveClock {
 public:
  // `machine` has the placement of all world ranks.
  explicit SimulatedClock(SimMachine machine) : machine_(std::move(machine)) {}

  double Seconds(const StepNode& node, const StepGroup& group, double idle_seconds) override;

 private:
  struct Times {
    double full = 0;   // seconds with full buckets
    double empty = 0;  // with empty ones
    double refill_seconds = 0;
  };
  // Everything that the time depends on.
  using Key = std::tuple<Collective, int, std::vector<std::uint64_t>, DataType, std::vector<int>,
                         std::vector<int>, double, double>;

  SimMachine MachineOf(const StepGroup& group) const;
  const Times& Find(const StepNode& node, const SimMachine& machine);

  SimMachine machine_;
  std::map<Key, Times> times_;
};

// The machine with messages that cost nothing but their bytes.
SimMachine WithoutLatency(SimMachine machine);

}  // namespace hockney
