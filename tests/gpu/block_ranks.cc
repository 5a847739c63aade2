#include "tests/gpu/block_ranks.h"

#include <stdexcept>
#include <utility>

namespace hockney::testing {

BlockRanks::BlockRanks(Device& device, int ranks, const DomainOptions& options)
    : device_(device), options_(options) {
  const SegmentPlan plan(options.lanes, ranks, options.limits);
  std::vector<std::byte*> begins;
  for (int rank = 0; rank < ranks; ++rank) {
    segments_.push_back(
        device.Allocate(plan.ControlBytes() + options.arena_bytes, PeerMemoryKind::kCudaIpc));
    begins.push_back(segments_.back()->data());
  }
  for (int rank = 0; rank < ranks; ++rank) {
    ranks_.push_back(std::make_unique<DeviceRank>(
        device, plan, DeviceRank::Place{.rank = rank, .segments = begins, .proxy = nullptr},
        options.first_count));
  }
}

BlockRanks::Together BlockRanks::Prepare(const PlannedCase& planned, int threads,
                                         double timeout_seconds) {
  const ExecutorCase& test = planned.test();
  Parameters parameters = planned.flow().parameters;
  parameters.in_place = test.in_place;
  std::vector<DeviceBuffers> buffers;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const int r = static_cast<int>(rank);
    const Call call = planned.MakeCall(r, arena(r));
    buffers.push_back({call.input, call.output});
  }
  Together together;
  std::vector<BlockCall> calls;
  std::size_t blocks = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Shape shape = planned.MakeCall(0, nullptr).shape;
    const RankProgram program = test.row->build(shape, static_cast<int>(rank), parameters);
    together.programs.push_back(std::make_unique<DeviceProgram>(
        *ranks_[rank], ProgramCall{program, planned.layout(), planned.flow(), timeout_seconds},
        buffers));
    calls.push_back(together.programs.back()->call());
    blocks += program.lanes.size();
  }
  const int resident = device_.ResidentBlocks(test.type, test.op, threads);
  if (blocks > static_cast<std::size_t>(resident)) {
    throw std::invalid_argument(std::to_string(blocks) + " blocks at a time, the device holds " +
                                std::to_string(resident));
  }
  together.end = device_.MakeMark();
  together.launch = device_.PrepareLaunch(calls, test.type, test.op, threads);
  return together;
}

std::string BlockRanks::Run(Together& together) {
  together.launch->Enqueue();
  WaitForQueue(*together.end);
  for (std::size_t rank = 0; rank < together.programs.size(); ++rank) {
    const std::string complaint = together.programs[rank]->Complaint();
    if (!complaint.empty()) return "rank " + std::to_string(rank) + " gave up: " + complaint;
  }
  return "";
}

std::string BlockRanks::RunCase(const ExecutorCase& test, int calls, int threads,
                                double timeout_seconds) {
  const PlannedCase planned(test, limits());
  Together together = Prepare(planned, threads, timeout_seconds);
  for (int n = 0; n < calls; ++n) {
    const std::uint64_t seed = 1 + static_cast<std::uint64_t>(n);
    std::vector<std::vector<std::byte>> arenas;
    for (int rank = 0; rank < test.counts.ranks; ++rank) {
      arenas.push_back(planned.Before(rank, seed));
      device_.Write(arena(rank), arenas.back());
    }
    std::string wrong = Run(together);
    if (!wrong.empty()) return Describe(test) + ": " + wrong;
    for (int rank = 0; rank < test.counts.ranks; ++rank) device_.Read(arenas[rank], arena(rank));
    wrong = planned.Compare(seed, arenas);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace hockney::testing
