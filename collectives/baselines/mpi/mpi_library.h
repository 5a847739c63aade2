#pragma once

#include <string>
#include <string_view>

// What the running MPI library says of itself. Only facts: a component that was merely asked for is
// not named. Call between MPI's start and its end.
namespace hockney {

// Returns name and version, e.g. "Open MPI 4.1.4", of the text MPI_Get_library_version gives.
std::string ShortMpiVersion(std::string_view library_version);

// The same of the running library.
std::string MpiLibrary();

// What carries messages.
struct MpiTransport {
  // Open MPI closes the components it did not select, and their variables leave the tools interface
  // (MPI_T): "pml=ob1 btl=self,tcp,vader coll=unknown", where the btls are those that are open. The
  // collective modules stay open unused and are chosen per communicator, which no interface shows.
  // MPICH: "device=ch4:ucx"; what that
  // device runs on is chosen a connection, which no interface shows either. Otherwise "unknown".
  std::string module;
  // How Open MPI's shared-memory transport copies between processes, e.g. "cma", as MPI_T says;
  // empty where there is no such transport, and for MPICH, whose device does not tell.
  std::string single_copy;
};

// Open MPI loads its components anew for this, which takes a quarter of a second: ask once.
MpiTransport ReadMpiTransport();

// Returns why Open MPI's ranks of one host have no shared memory between them although nobody chose
// so (its messages then take a network), empty if they have it or it is not known.
std::string WhyNoMpiSharedMemory(const MpiTransport& transport);

}  // namespace hockney
