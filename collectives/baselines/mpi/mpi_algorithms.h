#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/types.h"

namespace hockney {

// The MPI libraries whose own algorithms can be chosen.
enum class MpiFamily : std::uint8_t { kOther, kOpenMpi, kMpich };

// Returns the family of a library as its rows name it: "Open MPI 4.1.4", "MPICH 4.0.2".
MpiFamily FamilyOf(std::string_view library);

// An algorithm as the library's own parameters name it.
struct MpiAlgorithm {
  MpiFamily family = MpiFamily::kOther;
  Collective collective = Collective::kAllReduce;
  std::string_view name = {};
  int id = 0;  // Open MPI's number of it, in parameters and rule files; 0 for MPICH, which has none
};

// Those of Open MPI (`ompi_info --param coll tuned --level 9`, 4.1 and what later versions add) and
// of MPICH (MPIR_CVAR_*_INTRA_ALGORITHM, 4.0 and 4.3), by library and collective. The collectives
// are those that a call with equal blocks uses: reduce_scatter is MPI_Reduce_scatter_block.
std::span<const MpiAlgorithm> AllMpiAlgorithms();

// The collective as both libraries spell it: "allreduce", "reduce_scatter_block"; empty for
// send_recv, which is none.
std::string_view MpiNameOf(Collective collective);

// A control variable of MPICH: MPIR_CVAR_ALLREDUCE_<suffix>.
std::string MpichVariable(Collective collective, std::string_view suffix);

// Returns Open MPI's number of an algorithm, nothing if it has none of that name.
std::optional<int> OpenMpiId(Collective collective, std::string_view name);

// What decides whether Open MPI does what it was told.
struct ForcedCall {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  std::uint64_t count = 0;  // elements a rank
  std::size_t element_bytes = 4;
  int segment_bytes = 0;  // 0: not cut
};

// Returns why Open MPI's coll/tuned would silently run another algorithm than `name`, or refuse,
// for a call with an operator that commutes; empty if it does what it was told. Source: the
// functions of ompi/mca/coll/base of 4.1.
std::string WhyOpenMpiRunsAnother(const ForcedCall& call, std::string_view name);

}  // namespace hockney
