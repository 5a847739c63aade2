#include "bench/training/host_step_ground.h"

namespace hockney {

HostStepGround::HostStepGround(const StepGroundParts& parts, const StepGroundOptions& options) {
  HostGroundOptions of_host{
      .executor = options.executor, .interfaces = options.interfaces, .beside = parts.beside};
  of_host.domain = StepDomain(parts, kSlotRoomBytes);
  ground_ = MakeHostGround(parts.session, parts.local, of_host);
  if (options.implementation == StepImplementation::kMpi)
    mpi_ = std::make_unique<MpiBaseline>(parts.session);
}

std::unique_ptr<Prepared> HostStepGround::Prepare(const Call& call, const Algorithm& row,
                                                  const CallFlow& flow) {
  return ground_.executor->Prepare(call, row, flow, StorePolicy::kCached);
}

}  // namespace hockney
