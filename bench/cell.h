#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/buffers.h"
#include "bench/cache_size.h"
#include "bench/cell_schedule.h"
#include "bench/competitors.h"
#include "bench/correctness.h"
#include "bench/device/device_clock.h"
#include "bench/device/device_ground.h"
#include "bench/shaping.h"
#include "bench/sweep_options.h"
#include "bench/timing.h"
#include "bench/verify_cache.h"
#include "collectives/executors/host/host_executor.h"
#include "tuner/records.h"

namespace hockney {

class MpiBaseline;
class RankGroups;
struct NcclRow;

// What the ranks of a sweep share for its whole length.
struct SweepContext {
  RankGroups* groups = nullptr;
  Session* session = nullptr;  // of this rank's group, as are domain, executor, MPI and NCCL
  HostDomain* domain = nullptr;
  HostExecutor* executor = nullptr;
  // Where buffers lie on devices: the group's ground and its clock of all ranks; null otherwise.
  // The domain's arena is then the image of the device's, and nothing runs there.
  DeviceGround* device = nullptr;
  DeviceClock* device_clock = nullptr;
  std::span<NcclRow> nccl = {};  // its baselines may be made anew
  UcxWire* wire = nullptr;       // between hosts; null on one
  MpiBaseline* mpi = nullptr;    // null: there is no MPI between the ranks, or it was not asked for
  Timer* timer = nullptr;
  ClockKind clock = ClockKind::kTsc;  // the timer's
  Prepared* barrier = nullptr;        // our own
  LineProbe* line_probe = nullptr;    // null: ranks share cores
  CacheFlusher* flusher = nullptr;    // null unless buffers are cold
  VerifyCache* verified = nullptr;    // rank 0 uses it
  const SweepOptions* options = nullptr;
  // Of the connections that programs run over.
  const FlowLimits& limits() const {
    return device == nullptr ? domain->options().limits : device->limits();
  }
  const RankPlacement* placement = nullptr;  // null: all ranks are on one node
  LastLevelCache llc{};
  std::optional<Shaping> shaping = {};  // of the links between hosts
  int hosts = 1;                        // of this rank's group
  bool oversubscribed = false;          // of cores; with devices, of these
  int ranks_on_device = 0;              // the most of any device
  Watchdog* watchdog = nullptr;
};

// Measures one cell: checks the data of all competitors, times them interleaved in random order
// until each has its interval or its budget, and hands each finished one to `emit` (on rank 0, one
// a group). Returns false if the user interrupted it; what was measured is emitted then, too.
// Collective over all ranks.
class CellRunner {
 public:
  using Emit = std::function<void(const Competitor&)>;

  // `number` of the cell within the sweep gives it an order of its own.
  CellRunner(const SweepContext& context, const Cell& cell, std::size_t number, Emit emit);
  CellRunner(const CellRunner&) = delete;
  CellRunner& operator=(const CellRunner&) = delete;
  ~CellRunner();
  bool Run();

 private:
  void PlaceBuffers();
  void CheckAll();
  CheckResult Check(Prepared& prepared, std::uint64_t seed) const;
  void AddGraphs();
  void AddBoundPasses();
  std::vector<Competitor> MakePasses(std::size_t room) const;
  void Prepare(const BufferSet& set) const;
  Timed MakeTimed(Competitor& competitor);
  bool TimeAll();
  void ProbeLine();
  void FinishRows();
  void SetBound(SweepRow& row, double busbw) const;  // GB/s
  void SetShaping(SweepRow& row) const;

  const SweepContext& context_;
  const SweepOptions& options_;
  Cell cell_;
  Emit emit_;
  std::vector<BufferSet> sets_;
  std::vector<Competitor> competitors_;  // rows first, the passes of the bound behind them
  CellSchedule schedule_;
  std::vector<std::unique_ptr<Prepared>> wrapped_;  // calls with a barrier behind them
  std::vector<Timed> timed_;
  std::vector<double> line_transfers_ns_;  // before and after
};

// Bytes of a rank's arena that the cell needs, the same for all ranks.
std::size_t CellArenaBytes(const SweepOptions& options, const Cell& cell, std::uint64_t llc_bytes);

}  // namespace hockney
