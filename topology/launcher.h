#pragma once

#include <optional>

namespace hockney {

// Returns the number of ranks that the launcher of this process says it started, empty if there is
// no launcher. Differs from the ranks MPI reports when launcher and MPI library do not fit
// together: MPI then starts that many worlds of one rank each. Reads OMPI_COMM_WORLD_SIZE, PMI_SIZE
// and SLURM_STEP_NUM_TASKS; SLURM_NTASKS is set in every batch job, launched or not, and says
// nothing.
std::optional<int> LauncherWorldSize();

// Returns this process's number among those of the launcher, known before MPI starts; empty if
// there is no launcher. Reads OMPI_COMM_WORLD_RANK, PMI_RANK and SLURM_PROCID; the last is 0 in the
// script of every batch job, launched or not.
std::optional<int> LauncherRank();

// Returns whether this process is the first to ask of those on this host that its parent started,
// which a launcher's ranks on one host are; the others get false while the first lives. For ranks
// that have no other way to find out which of them speaks.
bool IsFirstOfSiblings();

// Returns whether a launcher started this process as one rank of a job.
bool UnderLauncher();

}  // namespace hockney
