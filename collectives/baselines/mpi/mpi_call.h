#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "collectives/executors/executor.h"
#include "collectives/layout.h"

namespace hockney {

// A communicator of its own with the ranks of another one. Making it is collective.
class MpiCommunicator {
 public:
  explicit MpiCommunicator(MPI_Comm parent);
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  // An exception may have left a call open, and then freeing could hang.
  ~MpiCommunicator();

  MPI_Comm handle() const { return handle_; }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

// Returns why MPI has no such call, empty if it has. `layout` is that of the call, uncut.
std::string WhyNotMpiCall(const Call& call, const Layout& layout, bool in_place);

// The call as plain blocking MPI; without it (WhyNotMpiCall) nothing to prepare.
std::unique_ptr<Prepared> PrepareMpiCall(const Call& call, const Layout& layout, bool in_place,
                                         std::shared_ptr<const MpiCommunicator> communicator);

}  // namespace hockney
