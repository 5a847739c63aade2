#include "bench/implementations.h"

namespace hockney {
namespace {

constexpr Implementation kTable[] = {
    {"hockney host", true, "ranks of one host, processes or threads, on shared memory"},
    {"hockney cuda", false, "by gpu_check only, not by sweeps yet; never run on a GPU"},
    {"hockney ucx", true, "between hosts"},
    {"mpi", true, "blocking calls of the MPI library, between processes under its launcher"},
    {"nccl", false, "by gpu_check only, not by sweeps yet; never run on a GPU"},
};

}  // namespace

std::span<const Implementation> AllImplementations() { return kTable; }

}  // namespace hockney
