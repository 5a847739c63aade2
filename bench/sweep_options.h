#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/clock/clock_kind.h"
#include "collectives/executors/cuda/device.h"
#include "collectives/kernels/kernels.h"
#include "collectives/program.h"
#include "collectives/types.h"
#include "topology/collect_topology.h"
#include "tuner/select/tuning.h"

namespace hockney {

enum class TimingMode : std::uint8_t { kIsolated, kStreamed };
enum class BufferState : std::uint8_t { kRefreshed, kHot, kCold };
enum class MemoryKind : std::uint8_t { kHost, kCuda };
enum class Placement : std::uint8_t { kApart, kInPlace };

// Stands for every algorithm that the running MPI library can be told to use.
inline constexpr const char* kAllMpiAlgorithms = "all";

// Everything `hockney sweep` can be asked for. Empty lists mean the choice that fits the size (see
// --help).
struct SweepOptions {
  std::vector<Collective> collectives;
  std::vector<std::uint64_t> sizes;    // bytes, nccl-tests' size column
  std::optional<std::uint64_t> count;  // elements a rank instead of sizes
  bool keeps_sizes = false;            // also those that round down to the same count, or to none
  bool pairs_placements = false;       // size by size, not placement by placement
  int cycles = 1;                      // times that all sizes are measured; 0: until interrupted
  std::vector<DataType> types = {DataType::kFloat32};
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  std::vector<int> roots = {0};  // ranks of a group; -1: every rank in turn
  std::string split;             // groups that work at once (CheckSplit); empty: all ranks are one
  std::vector<Placement> placements = {Placement::kApart};
  std::vector<std::string> algorithms;  // empty: all
  std::vector<std::string> implementations = {"hockney", "mpi"};
  // MPI's own algorithms beside its default: names, or kAllMpiAlgorithms alone.
  std::vector<std::string> mpi_algorithms;
  MemoryKind memory = MemoryKind::kHost;  // where the buffers lie, and so who moves the data
  PeerMemoryKind peer_memory = PeerMemoryKind::kCudaIpc;  // between processes, of GPUs
  bool requires_gdr = false;                              // end where GPUDirect RDMA cannot be
  std::vector<std::string> nccl_libraries = {"libnccl.so.2"};
  // How NCCL is told to do it, each in turn (NcclChoice). Empty: NCCL's own choice.
  std::vector<std::string> nccl_algorithms;
  std::vector<std::string> nccl_protocols;
  std::vector<int> nccl_channels;
  std::optional<int>
      graph_calls;  // in a captured graph, timed beside; empty: where calls are short
  std::vector<Protocol> protocols;  // empty: simple, and ll for short vectors
  std::vector<StorePolicy> stores;  // empty: cached, and non-temporal where it may pay
  std::vector<int> lanes;           // empty: 1, and more for long vectors between hosts or GPUs
  std::vector<int> slices = {2};
  TimingMode mode = TimingMode::kIsolated;
  BufferState buffers = BufferState::kRefreshed;
  ClockKind clock = ClockKind::kAuto;
  double row_budget_seconds = 0.5;
  std::optional<std::uint64_t> iterations;  // exactly so many samples; no stopping rule
  std::optional<std::uint64_t> warmups;
  // Timed calls of a row in all, instead of `iterations`; `warmups` then counts calls as well, and
  // at least that many are made (nccl-tests' -n and -w).
  std::optional<std::uint64_t> calls;
  bool barrier_after_call = false;  // and within its time (nccl-tests' -z 1)
  bool times_calls = false;         // each call, too (nccl-tests' -I)
  bool chooses_one = false;  // time only the row of hockney's that a short trial finds fastest
  std::size_t unalign_elements = 0;  // by which buffers miss their alignment
  int checks = 1;                    // data checks a row, 0: none
  std::uint64_t seed = 1;
  double timeout_seconds = 60;
  std::optional<std::uint64_t> llc_bytes;
  std::string out;  // run folder; empty: the default name
  bool keeps_folder = true;
  bool append = false;  // add this launch to an existing folder
  bool dry_run = false;
  TopologySources topology;  // racks and pods
  std::string progress = "auto";
  std::string program = "hockney sweep";  // as messages name it
  std::string tuned_file;  // of rules to follow, beside what else is asked for; empty: none
  std::shared_ptr<const Tuning> tuned;  // what is in it; null until the ranks have read it
};

}  // namespace hockney
