#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/executors/cuda/block_call.h"
#include "collectives/executors/cuda/device_rank.h"
#include "collectives/flow.h"
#include "collectives/layout.h"
#include "collectives/program.h"

namespace hockney {

// A rank's input and output as its device, or another rank's, reaches them.
struct DeviceBuffers {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

// A rank's program as it is to be run.
struct ProgramCall {
  const RankProgram& program;
  const Layout& layout;
  const CallFlow& flow;
  double timeout_seconds = 60;  // for any wait
};

// The program of one rank for one call, in memory of its device.
class DeviceProgram {
 public:
  // `buffers[r]` are rank r's; only those of the rank itself and of ranks whose memory the program
  // works in are used. Throws std::invalid_argument for more lanes than the rank has connections
  // for, and for steps with more operands than a block can list. `rank` outlives it.
  DeviceProgram(const DeviceRank& rank, const ProgramCall& call,
                std::span<const DeviceBuffers> buffers);

  // What its blocks get. Valid as long as this lives.
  const BlockCall& call() const { return call_; }
  // Whether a lane has given up, and which wait that was: "lane 1 at step 3"; or "". After the
  // launch has ended.
  std::string Complaint() const;

 private:
  void WriteTables(const DeviceRank& rank, const RankProgram& program, const Layout& layout,
                   std::span<const DeviceBuffers> buffers);

  std::shared_ptr<DeviceBuffer> tables_;
  std::shared_ptr<DeviceBuffer> scratch_;
  std::shared_ptr<DeviceBuffer> reports_;
  BlockCall call_;
};

}  // namespace hockney
