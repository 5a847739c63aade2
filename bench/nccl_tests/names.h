#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "collectives/types.h"

namespace hockney {

// The words of nccl-tests v2.19 (NVIDIA/nccl-tests, src/common.cu and the file of each collective).

// Returns the collective of a program called by nccl-tests' name: the last part of the path is
// all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, broadcast_perf,
// reduce_perf, sendrecv_perf, gather_perf or scatter_perf, also with the suffix of a build
// (all_reduce_perf_mpi). Nothing for any other name, alltoallv_perf and hypercube_perf among them.
std::optional<Collective> CollectiveOfProgram(std::string_view argv0);

// The last part of a path.
std::string_view BaseName(std::string_view path);

// The type as its table has it: half, float, double, f8e4m3, ...
std::string_view NcclTestsTypeName(DataType type);

// The redop column. "none" where nothing is combined, but the operator for send_recv: sendrecv_perf
// prints its -o, and takes all of them in turn for -o all.
std::string_view NcclTestsRedopName(Collective collective, ReduceOp op);

// Whether the collective has an in-place form, so that #wrong can be a number. nccl-tests times
// alltoall and sendrecv in place all the same, though the calls overwrite what they still have to
// send, and prints N/A for #wrong only.
bool HasInPlaceForm(Collective collective);

// All types and operators in the order of `-d all` and `-o all`.
std::vector<DataType> NcclTestsTypes();
std::vector<ReduceOp> NcclTestsOps();

}  // namespace hockney
