#include "bench/implementations.h"

#include "collectives/baselines/nccl/nccl_library.h"
#include "collectives/executors/cuda/cuda_device.h"

namespace hockney {

std::vector<Implementation> AllImplementations() {
  const bool has_cuda = CudaBuildStatus().starts_with("compiled");
  return {
      {"hockney host", true, "ranks of one host, processes or threads, on shared memory"},
      {"hockney cuda", has_cuda, "blocks of threads on GPUs (--memory cuda); never run on a GPU"},
      {"hockney ucx", true, "between hosts"},
      {"mpi", true, "blocking calls of the MPI library, between processes under its launcher"},
      {"nccl", !NcclHeaderVersion().empty(),
       "a libnccl found at run time (--nccl-lib); never run on a GPU"},
  };
}

}  // namespace hockney
