#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/device/device_options.h"
#include "bench/launch.h"
#include "bench/topology_options.h"
#include "bench/training/gemm.h"
#include "bench/training/step_options.h"
#include "collectives/executors/cuda/device.h"
#include "tuner/records/step_row.h"

namespace hockney {

// The options of hockney step, as typed.
struct StepCommandTexts {
  StepTexts step;
  std::string compute = "emulate";
  std::string implementation = "hockney";
  MemoryTexts memory;
  std::string out;
  int steps = 10;
  int warmups = 2;
  int train = 0;  // steps of training in place of measured ones
  bool append = false;
  std::uint64_t seed = 1;
  TopologySources sources;
  RankOptions ranks;
};

// As read.
struct StepCommandOptions {
  StepRow row;
  PeerMemoryKind peer_memory = PeerMemoryKind::kCudaIpc;
  std::shared_ptr<const Gemm> gemm = {};  // null where none is needed
};

// In the order of StepImplementation.
inline constexpr std::string_view kStepImplementations[] = {"hockney", "mpi", "nccl"};

// Measures the step on the ranks of `session`, or trains, and writes the run folder. Returns the
// exit code of this rank. Collective; all arguments outlive it.
int RunStep(Session& session, const StepCommandTexts& texts, const StepCommandOptions& options,
            const Launch& launch);

}  // namespace hockney
