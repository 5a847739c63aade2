// A program of a user of MPI:  mpi_probe COLLECTIVE:BYTES...
// Calls each collective once, BYTES as hockney's size column counts them, and says on rank 0 which
// class of error it gave, 0 for none. Links MPI and nothing of hockney, so that it can be built for
// another MPI too.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

struct Call {
  int ranks = 1;
  std::vector<float> in = {};
  std::vector<float> out = {};
  int whole = 0;  // elements of the size column
  int block = 0;  // and of one rank's share
};

int Run(const std::string& name, Call& c) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  float* const in = c.in.data();
  float* const out = c.out.data();
  if (name == "allreduce") return MPI_Allreduce(in, out, c.whole, MPI_FLOAT, MPI_SUM, comm);
  if (name == "reduce") return MPI_Reduce(in, out, c.whole, MPI_FLOAT, MPI_SUM, 0, comm);
  if (name == "bcast") return MPI_Bcast(out, c.whole, MPI_FLOAT, 0, comm);
  if (name == "allgather") {
    return MPI_Allgather(in, c.block, MPI_FLOAT, out, c.block, MPI_FLOAT, comm);
  }
  if (name == "alltoall") {
    return MPI_Alltoall(in, c.block, MPI_FLOAT, out, c.block, MPI_FLOAT, comm);
  }
  if (name == "gather") {
    return MPI_Gather(in, c.block, MPI_FLOAT, out, c.block, MPI_FLOAT, 0, comm);
  }
  if (name == "scatter") {
    return MPI_Scatter(in, c.block, MPI_FLOAT, out, c.block, MPI_FLOAT, 0, comm);
  }
  if (name == "reduce_scatter_block") {
    return MPI_Reduce_scatter_block(in, out, c.block, MPI_FLOAT, MPI_SUM, comm);
  }
  if (name == "alltoallv") {
    const std::vector<int> counts(c.ranks, c.block);
    std::vector<int> places(c.ranks);
    for (int r = 0; r < c.ranks; ++r) places[r] = r * c.block;
    return MPI_Alltoallv(in, counts.data(), places.data(), MPI_FLOAT, out, counts.data(),
                         places.data(), MPI_FLOAT, comm);
  }
  if (name == "barrier") return MPI_Barrier(comm);
  std::fprintf(stderr, "mpi_probe: no collective %s\n", name.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0;
  Call call;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &call.ranks);
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t colon = text.find(':');
    const int bytes = std::atoi(text.c_str() + colon + 1);
    call.whole = bytes / 4;
    call.block = call.whole / call.ranks;
    call.in.assign(call.whole + 1, 1.0F);
    call.out.assign(call.whole + 1, 0.0F);
    const int error = Run(text.substr(0, colon), call);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(error, &error_class);
    const char* said = error_class == MPI_SUCCESS   ? "ok"
                       : error_class == MPI_ERR_ARG ? "MPI_ERR_ARG"
                                                    : "another error";
    if (rank == 0) std::printf("%s %s\n", argv[i], said);
  }
  MPI_Finalize();
  return 0;
}
