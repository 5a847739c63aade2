#pragma once

#include <cuda_runtime_api.h>

#include "collectives/baselines/nccl/nccl_api.h"
#include "collectives/baselines/nccl/nccl_baseline.h"

namespace hockney {

// A communicator that never blocks: every call that is still in progress is asked for until the
// deadline; then, and when it reports an error, it is aborted and what it did is over.
class NcclBaseline::Communicator {
 public:
  Communicator(Session& session, const Device& device, NcclLibrary library,
               const NcclChoice& choice);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  const NcclApi& api() const { return library_.api(); }
  ncclComm_t handle() const { return comm_; }
  cudaStream_t stream() const { return stream_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  double timeout_seconds() const { return timeout_seconds_; }

  // Waits for what `status`, the answer to `call`, says is in progress.
  void Finish(const char* call, ncclResult_t status);
  // Throws, after an abort, if the communicator has an error.
  void Check(const char* call);
  [[noreturn]] void TimeOut(const char* call);
  void Abort();

 private:
  [[noreturn]] void Fail(const char* call, ncclResult_t status);

  const Session& session_;
  NcclLibrary library_;
  int rank_;
  int ranks_;
  double timeout_seconds_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_;  // the device's
};

}  // namespace hockney
