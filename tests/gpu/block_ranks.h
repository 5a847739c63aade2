#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/executors/cuda/device_program.h"
#include "collectives/executors/cuda/device_queue.h"
#include "collectives/executors/cuda/device_rank.h"
#include "tests/collectives/executor_cases.h"

namespace hockney::testing {

// Ranks that are blocks of one launch on one device, all in one thread of the host: the whole
// protocol on a single GPU.
class BlockRanks {
 public:
  // A call of all ranks together. Valid as long as what made it.
  struct Together {
    std::vector<std::unique_ptr<DeviceProgram>> programs;
    std::unique_ptr<DeviceLaunch> launch;
    std::unique_ptr<DeviceMark> end;
  };

  BlockRanks(Device& device, int ranks, const DomainOptions& options);

  Device& device() const { return device_; }
  const FlowLimits& limits() const { return options_.limits; }
  std::byte* arena(int rank) const { return ranks_.at(rank)->arena(rank); }

  // Throws std::invalid_argument for more blocks than can be on the device at a time.
  Together Prepare(const PlannedCase& planned, int threads, double timeout_seconds);
  // Starts it and waits. Returns who gave up where, or "".
  static std::string Run(Together& together);

  // As RunCase: "", or what differs, or who gave up.
  std::string RunCase(const ExecutorCase& test, int calls, int threads, double timeout_seconds);

 private:
  Device& device_;
  DomainOptions options_;
  std::vector<std::shared_ptr<DeviceBuffer>> segments_;
  std::vector<std::unique_ptr<DeviceRank>> ranks_;
};

}  // namespace hockney::testing
