#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/flow.h"
#include "tuner/simulate/engine.h"
#include "tuner/simulate/machine.h"

namespace hockney {

// What is simulated: one call of a row of the table.
struct SimRequest {
  const Algorithm* row = nullptr;
  Counts counts = {};
  DataType type = DataType::kFloat32;
  Parameters parameters = {};  // pieces are chosen as executors do; the placement is the machine's
  FlowLimits limits = {};
};

inline constexpr double kFullBuckets = std::numeric_limits<double>::infinity();

struct SimOptions {
  bool collapse = true;     // let ranks that do the same stand for each other
  bool extrapolate = true;  // stop when pieces repeat
  // How long shaped links rest before the call, while the buckets of what they let through at once
  // fill; 0 where calls follow each other without a pause.
  double refill_seconds = kFullBuckets;
  // Whether the call is one of many alike, so that it finds in the buckets what the one before it
  // left, too; otherwise they were empty before the rest.
  bool repeats = false;
};

struct SimResult {
  double seconds = 0;
  std::array<double, kSimLevels> bytes{};  // by level, of all ranks, with flags of packets
  std::array<double, kSimLevels> messages{};
  int ranks = 1;
  int classes = 1;  // ranks that were simulated
  int pieces = 1;   // of the call
  int simulated_pieces = 1;
  std::uint64_t slices = 0;  // simulated
  std::uint64_t events = 0;
  std::uint64_t solves = 0;
  std::vector<double> end_buckets = {};  // what shaped links' buckets hold in the end
};

// Everything that a simulation of one call needs, built once for several runs.
class Simulation {
 public:
  // Throws std::invalid_argument where the row cannot run on the machine's ranks, or with these
  // parameters.
  Simulation(const SimRequest& request, const SimMachine& machine, const SimOptions& options = {});

  ~Simulation() = default;
  Simulation(const Simulation&) = delete;  // programs point into it
  Simulation& operator=(const Simulation&) = delete;

  // The time of the call, last rank's end less first rank's start. Pieces that shift every lane
  // alike are simulated twice only.
  SimResult Run() const;
  // The same without leaving anything out; every slice in the order in which they were ready.
  SimResult Trace(std::vector<SliceRecord>* records) const;
  // The rank and lane of SliceRecord::lane.
  struct LaneName {
    int rank = 0;
    int lane = 0;
  };
  std::vector<LaneName> LaneNames() const;

 private:
  EngineResult RunPieces(int pieces, std::vector<SliceRecord>* records) const;
  std::optional<SimResult> RunFew(int all) const;
  void FindBuckets();
  SimResult Finish(const EngineResult& engine, int pieces, double pace) const;

  SimMachine machine_;
  PlacedRanks placed_;
  SimOptions options_;
  CallFlow flow_;
  Layout layout_;
  std::vector<RankCode> codes_;
  RankClasses classes_;
  std::size_t even_chunk_bytes_ = 0;
  Protocol protocol_ = Protocol::kSimple;
  std::unique_ptr<const ResourceMap> map_;
  std::vector<double> buckets_;  // when the call begins
};

}  // namespace hockney
