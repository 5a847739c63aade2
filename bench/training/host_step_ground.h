#pragma once

#include <memory>
#include <string>

#include "bench/training/step_ground.h"
#include "collectives/baselines/mpi/mpi_baseline.h"

namespace hockney {

// On memory of the host; the library is MPI.
class HostStepGround : public StepGround {
 public:
  HostStepGround(const StepGroundParts& parts, const StepGroundOptions& options);

  std::span<std::byte> arena() const override { return ground_.domain->arena(); }
  const FlowLimits& limits() const override { return ground_.domain->options().limits; }
  std::unique_ptr<Prepared> Prepare(const Call& call, const Algorithm& row,
                                    const CallFlow& flow) override;
  std::string Library() const override { return mpi_ ? mpi_->Library() : ""; }
  std::string WhyNot(const Call& call) const override { return mpi_->WhyNot(call); }
  std::unique_ptr<Prepared> PrepareByLibrary(const Call& call) override {
    return mpi_->Prepare(call);
  }
  // The calls find it where it is.
  void Upload(const BufferSet& /*set*/) const override {}
  void Download(const BufferSet& /*set*/) const override {}

 private:
  HostGround ground_;
  std::unique_ptr<MpiBaseline> mpi_;  // null: our executor does it
};

}  // namespace hockney
