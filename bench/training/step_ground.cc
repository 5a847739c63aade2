#include "bench/training/step_ground.h"

#include "bench/training/device_step_ground.h"
#include "bench/training/host_step_ground.h"
#include "collectives/levels.h"
#include "topology/gather_values.h"

namespace hockney {

DomainOptions StepDomain(const StepGroundParts& parts, std::size_t slot_room_bytes) {
  DomainOptions options{.arena_bytes = parts.arena_bytes, .lanes = kMostLanesPerDataLane};
  FitSlots(options, static_cast<std::size_t>(parts.local.ranks()), slot_room_bytes);
  // Every rank of the group must have slots of one size.
  options.limits.slot_bytes = MinOverRanks(parts.session, options.limits.slot_bytes);
  return options;
}

std::unique_ptr<StepGround> MakeStepGround(const StepGroundParts& parts,
                                           const StepGroundOptions& options) {
  if (options.device == nullptr) return std::make_unique<HostStepGround>(parts, options);
  return std::make_unique<DeviceStepGround>(parts, options);
}

}  // namespace hockney
