#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/baselines/mpi/mpi_library.h"
#include "collectives/executors/executor.h"
#include "topology/session.h"

namespace hockney {

class MpiCommunicator;
class MpiSelection;

// The collectives of the MPI library this program runs on, as programs use them: plain blocking
// calls. They have no deadline: guard Run with a Watchdog.
class MpiBaseline {
 public:
  // Duplicates the session's communicator; collective over `session`. MPI stays up while the
  // baseline lives. `chooses_algorithms`: the library will be told which of its own algorithms to
  // use. Throws std::invalid_argument unless the ranks are processes.
  explicit MpiBaseline(const Session& session, bool chooses_algorithms = false);
  MpiBaseline(const MpiBaseline&) = delete;
  MpiBaseline& operator=(const MpiBaseline&) = delete;
  ~MpiBaseline();

  // Before MPI starts, where algorithms will be chosen: Open MPI looks once.
  static void AllowAlgorithms();

  // Name and version, e.g. "Open MPI 4.1.4".
  std::string Library() const;
  // What is known of what carries the messages; see MpiTransport.
  const std::string& Module() const { return transport_.module; }
  const std::string& SingleCopy() const { return transport_.single_copy; }

  // The library's own algorithms of a collective, as it names them and in its order; none unless
  // algorithms are chosen.
  std::vector<std::string> Algorithms(Collective collective) const;
  // What else the library was told about one of them: key=value;..., or "".
  std::string Settings(Collective collective, std::string_view algorithm) const;

  // Returns why MPI cannot run `call`, empty if it can. Every rank gets the same answer, except
  // that an in-place reduce_scatter shows only where this rank's block has elements; Prepare
  // refuses it on all ranks alike.
  std::string WhyNot(const Call& call) const;
  // Returns why the library would not run `call` by its algorithm of that name, empty if it would
  // or if only the call itself can tell.
  std::string WhyNotForced(const Call& call, const std::string& algorithm) const;

  // Collective: all ranks pass the same call, with their own buffers, which may lie anywhere and be
  // null where they are empty. Types that MPI does not know (16- and 8-bit floats) are moved as
  // unsigned integers of their width where nothing is computed. `algorithm` empty: the library's
  // choice. Throws std::invalid_argument with WhyNot's answer, or if buffers overlap otherwise than
  // at the in-place offsets.
  std::unique_ptr<Prepared> Prepare(const Call& call, const std::string& algorithm = "");

  // On all ranks, outside of what is timed and before calls that were prepared with another
  // algorithm than those before them: MPICH looks in every call. Does nothing for Open MPI.
  void Select(Collective collective, const std::string& algorithm);

 private:
  std::shared_ptr<const MpiCommunicator> CommunicatorFor(Collective collective,
                                                         const std::string& algorithm);

  Session session_;  // a copy, so that MPI outlives the communicators
  std::shared_ptr<const MpiCommunicator> default_;
  std::map<std::pair<Collective, std::string>, std::shared_ptr<const MpiCommunicator>> forced_;
  std::unique_ptr<MpiSelection> selection_;  // null unless algorithms are chosen
  MpiTransport transport_;
  std::string no_shared_memory_;  // why; empty if all is well
};

}  // namespace hockney
