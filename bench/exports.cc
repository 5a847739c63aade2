#include "bench/exports.h"

#include <array>

namespace hockney {

std::span<const ExportForm> AllExports() {
  static constexpr std::array kExports = {
      ExportForm{"nccl", "nccl", ExportNccl},
      ExportForm{"nccl-plugin", "nccl", ExportNccl},  // which reads the same file
      ExportForm{"ompi", "mpi", ExportOmpi},
      ExportForm{"mpich", "mpi", ExportMpich},
  };
  return kExports;
}

}  // namespace hockney
