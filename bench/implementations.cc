#include "bench/implementations.h"

namespace hockney {
namespace {

constexpr Implementation kTable[] = {
    {"hockney host", true, "ranks of one host, processes or threads, on shared memory"},
    {"hockney cuda", true, "blocks of threads on GPUs (--memory cuda); never run on a GPU"},
    {"hockney ucx", true, "between hosts"},
    {"mpi", true, "blocking calls of the MPI library, between processes under its launcher"},
    {"nccl", true, "a libnccl found at run time (--nccl-lib); never run on a GPU"},
};

}  // namespace

std::span<const Implementation> AllImplementations() { return kTable; }

}  // namespace hockney
