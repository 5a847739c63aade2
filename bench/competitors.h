#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/buffers.h"
#include "bench/sweep_options.h"
#include "bench/timing.h"
#include "collectives/executors/cuda/device_queue.h"
#include "collectives/executors/host/host_executor.h"
#include "tuner/records.h"

namespace hockney {

struct NamedAlgorithm;
struct SweepContext;

// One line of a sweep's table: what is measured, whoever measures it.
struct Cell {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::uint64_t count = 0;  // elements a rank, as nccl-tests counts
  bool in_place = false;

  Shape shape() const { return {collective, ranks, root}; }
  bool operator==(const Cell&) const = default;
};

// One way to do a cell's collective, or a pass over memory that bounds it.
struct Competitor {
  SweepRow row = {};
  std::vector<std::unique_ptr<Prepared>> prepared =
      {};  // one a buffer set, or all sets together; empty: a skipped or failed row
  std::function<void()> before = {};        // ahead of its calls, outside of what is timed
  std::vector<DeviceCall*> on_device = {};  // what `prepared` is, where a device runs it
  int graph_calls = 0;                      // in on_device[0], which is a graph; 0: it is none
  std::uint64_t bound_bytes = 0;            // passes of the bound: bytes all ranks move; 0 for rows
  bool active = false;                      // still to be timed
  bool warming = true;
  double wall_seconds = 0;
  std::vector<double> warm_times_us = {};
  std::vector<double> times_us = {};
  std::vector<double> local_us = {};  // Sample::local_us of all samples
  double clock_error_us = 0;          // largest bound among them
  std::vector<double> skews_ns = {};
  std::vector<SampleRow> samples = {};
  std::vector<double> rank_us = {};  // each rank's own time, summed over the samples
  std::vector<double> call_us = {};  // Sample::call_us of all samples
  std::string label = {};            // for messages
};

// Builds the competitors of a cell on the given buffer sets: hockney's algorithms in the variants
// asked for, then MPI's; what --tuned chooses is marked. What cannot run is there as a skipped or
// failed row with its reason.
// Collective.
std::vector<Competitor> MakeCompetitors(const SweepContext& context, const Cell& cell,
                                        std::span<const BufferSet> sets);

// The competitor that runs a choice of hockney's, whatever the options ask for. Collective.
Competitor MakeNamed(const SweepContext& context, const Cell& cell, const NamedAlgorithm& named,
                     std::span<const BufferSet> sets);

// The most data lanes that are tried where the options name none.
int MostUsualLanes(MemoryKind memory, int hosts);

// What a row of the cell holds whoever does it.
SweepRow StartRow(const SweepContext& context, const Cell& cell);
// A row as messages name it.
std::string LabelOf(const SweepRow& row);
// Makes a row of it that is not timed.
void Skip(Competitor& competitor, Status status, std::string reason);

// The call of a cell on one set.
Call MakeCall(const Cell& cell, const BufferSet& set);

}  // namespace hockney
