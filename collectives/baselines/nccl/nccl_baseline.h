#pragma once

#include <memory>
#include <string>

#include "collectives/baselines/nccl/nccl_library.h"
#include "collectives/executors/cuda/device_queue.h"
#include "collectives/executors/executor.h"
#include "topology/session.h"

namespace hockney {

// How NCCL is told to do it; empty and 0 leave the choice to NCCL.
struct NcclChoice {
  std::string algorithm = {};  // NCCL_ALGO: Ring, Tree, ...
  std::string protocol = {};   // NCCL_PROTO: LL, LL128, Simple
  int channels = 0;
};

// NCCL's collectives on the memory of GPUs. Compiled, never run with a communicator: no GPU has
// been there.
class NcclBaseline {
 public:
  // Makes a communicator of the session's ranks on `device`, whose queue it uses and which outlives
  // it. It does not block: a peer that does not come ends in TimeoutError, after the communicator
  // was aborted. Collective over `session`. Throws EnvironmentError with NCCL's words if NCCL
  // refuses: no GPU, driver or peer.
  NcclBaseline(Session& session, Device& device, const NcclLibrary& library,
               const NcclChoice& choice);
  ~NcclBaseline();
  NcclBaseline(const NcclBaseline&) = delete;
  NcclBaseline& operator=(const NcclBaseline&) = delete;

  // Ends the communicator without waiting for the others, who may be gone. Nothing it prepared may
  // run any more.
  void Abandon();

  // Why NCCL cannot run `call`, or "".
  std::string WhyNot(const Call& call) const;

  // The call on buffers of the GPU. Who waits for it looks for errors of the communicator; one that
  // is found, or a deadline that passes, aborts the communicator and throws: BackendError or
  // TimeoutError. Throws std::invalid_argument with WhyNot's answer.
  std::unique_ptr<DeviceCall> Prepare(const Call& call);

  class Communicator;

 private:
  Device& device_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace hockney
