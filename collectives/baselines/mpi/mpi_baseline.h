#pragma once

#include <memory>
#include <string>

#include "collectives/baselines/mpi/mpi_library.h"
#include "collectives/executors/executor.h"
#include "topology/session.h"

namespace hockney {

// The collectives of the MPI library this program runs on, as programs use them: plain blocking
// calls. They have no deadline: guard Run with a Watchdog.
class MpiBaseline {
 public:
  // Duplicates the session's communicator; collective over `session`. MPI stays up while the
  // baseline lives. Throws std::invalid_argument unless the ranks are processes.
  explicit MpiBaseline(const Session& session);

  // Name and version, e.g. "Open MPI 4.1.4".
  std::string Library() const;
  // What is known of what carries the messages; see MpiTransport.
  const std::string& Module() const { return transport_.module; }
  const std::string& SingleCopy() const { return transport_.single_copy; }

  // Returns why MPI cannot run `call`, empty if it can. Every rank gets the same answer, except
  // that an in-place reduce_scatter shows only where this rank's block has elements; Prepare
  // refuses it on all ranks alike.
  std::string WhyNot(const Call& call) const;

  // Collective: all ranks pass the same call, with their own buffers, which may lie anywhere and be
  // null where they are empty. Types that MPI does not know (16- and 8-bit floats) are moved as
  // unsigned integers of their width where nothing is computed. Throws std::invalid_argument with
  // WhyNot's answer, or if buffers overlap otherwise than at the in-place offsets.
  std::unique_ptr<Prepared> Prepare(const Call& call);

 private:
  class Communicator;

  Session session_;  // a copy, so that MPI outlives the communicator
  std::shared_ptr<const Communicator> communicator_;
  MpiTransport transport_;
  std::string no_shared_memory_;  // why; empty if all is well
};

}  // namespace hockney
