#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/baselines/mpi/mpi_algorithms.h"
#include "collectives/baselines/mpi/tools_interface.h"
#include "collectives/types.h"

namespace hockney {

// Tells the running MPI library which of its own algorithms to use, through its control variables
// (MPI_T). Open MPI reads them when a communicator is made and keeps to them there; MPICH reads
// them in every call. Lives between MPI's start and its end, all ranks do the same.
class MpiSelection {
 public:
  // `library` as MpiLibrary() says.
  explicit MpiSelection(const std::string& library);

  // Before MPI starts: lets Open MPI listen to its parameters of algorithms, which changes nothing
  // by itself. Where somebody has set a parameter of coll/tuned already, it is left as it is.
  static void Allow();

  // What the library can be told for the collective, in its own order; none of send_recv.
  std::vector<std::string> Names(Collective collective) const;
  // Returns why nothing can be chosen in this run, empty if it can.
  const std::string& why_not() const { return why_not_; }
  // Returns why the algorithm would not be what runs (WhyOpenMpiRunsAnother; an unknown name). For
  // MPICH only the call itself tells.
  std::string WhyNot(ForcedCall call, const std::string& name) const;
  // What else the library was told about the algorithm: "faninout=4", "segsize=65536", or "".
  std::string Settings(Collective collective, std::string_view name) const;

  // Open MPI: runs `make`, which makes a communicator, with the algorithm set. Throws
  // std::runtime_error if the library refuses.
  void Make(Collective collective, const std::string& name,
            const std::function<void()>& make) const;
  // MPICH: the calls of the collective that follow use the algorithm ("" : its own choice) and fail
  // where they cannot. Others: does nothing. Not for the timed part. Throws std::runtime_error if
  // the library refuses.
  void Select(Collective collective, const std::string& name);

 private:
  std::string FindWhyNot(const std::string& library) const;
  std::string WhyNotTuned() const;
  int SettingOf(Collective collective, const char* suffix) const;
  int ValueOf(Collective collective, const std::string& name) const;
  void Set(const std::string& variable, int value) const;
  void Deselect();

  MpiFamily family_;
  ToolsInterface tools_;
  std::string why_not_;
  std::vector<std::pair<std::string, int>> selected_;  // variables of MPICH and what they were
  Collective selected_collective_ = Collective::kSendRecv;
  std::string selected_name_;
};

}  // namespace hockney
