#pragma once

#include <memory>
#include <string>

#include "collectives/algorithms.h"
#include "collectives/executors/executor.h"
#include "collectives/executors/host/host_domain.h"
#include "collectives/flow.h"
#include "collectives/kernels/kernels.h"

namespace hockney {

// Runs programs on the memory of one host: one executor a rank, a rank being a process or a thread.
class HostExecutor {
 public:
  struct Options {
    bool oversubscribed =
        false;  // more ranks than cores: give way at once when there is nothing to do
    double timeout_seconds = 60;  // for any wait inside Run
  };

  // `session` and `domain` outlive the executor and everything it prepares.
  HostExecutor(Session& session, HostDomain& domain, const Options& options);

  // Collective: all ranks pass the same call, row and flow. The buffers lie in this rank's arena,
  // or anywhere if the program reaches no peer's memory. Throws std::invalid_argument if they do
  // not, if the program needs more lanes than the domain has, if it reaches the memory of another
  // node, or if the buffers overlap otherwise than at the in-place offsets.
  std::unique_ptr<Prepared> Prepare(const Call& call, const Algorithm& row, const CallFlow& flow,
                                    StorePolicy store);

  // The same for programs of the caller's own making, one for each rank, that reach no peer's
  // memory. Collective only in that partners connect to each other.
  std::unique_ptr<Prepared> PrepareProgram(const Call& call, RankProgram program,
                                           const CallFlow& flow, StorePolicy store);

 private:
  // Connects to the partners on other hosts.
  void Reach(const RankProgram& program);

  Session& session_;
  HostDomain& domain_;
  Options options_;
};

}  // namespace hockney
