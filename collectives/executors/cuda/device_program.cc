#include "collectives/executors/cuda/device_program.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "collectives/executors/cuda/lowering.h"
#include "collectives/interpreter.h"

namespace hockney {
namespace {

// Where an array lies in tables.
template <class T>
struct Table {
  std::size_t begin = 0;
  T* In(std::byte* tables) const { return reinterpret_cast<T*>(tables + begin); }
};

// Arrays one behind the other, to be copied to a device at once.
class Tables {
 public:
  template <class T>
  Table<T> Add(const std::vector<T>& array) {
    constexpr std::size_t kAlignment = 16;
    static_assert(alignof(T) <= kAlignment && std::is_trivially_copyable_v<T>);
    const Table<T> table{(image_.size() + kAlignment - 1) / kAlignment * kAlignment};
    image_.resize(table.begin + array.size() * sizeof(T));
    Set(table, array);
    return table;
  }
  template <class T>
  void Set(Table<T> table, const std::vector<T>& array) {
    if (array.empty()) return;
    std::memcpy(image_.data() + table.begin, array.data(), array.size() * sizeof(T));
  }
  std::span<const std::byte> image() const { return image_; }

 private:
  std::vector<std::byte> image_;
};

// The blocks list the operands of a step in memory of a fixed size.
void CheckOperands(const RankProgram& program) {
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const int ranks = GroupOf(program, static_cast<int>(lane)).size;
    if (ranks <= kMaxBlockRanks) continue;
    const Lane& steps = program.lanes[lane];
    const auto takes_all = [](const Operand& operand) {
      return operand.place == Place::kAllPeers || operand.place == Place::kAllFifos;
    };
    for (int s = 0; s < steps.step_count; ++s) {
      const Step& step = steps.steps[s];
      if (std::any_of(step.source, step.source + step.source_count, takes_all) ||
          std::any_of(step.destination, step.destination + step.destination_count, takes_all)) {
        throw std::invalid_argument("a step with the data of " + std::to_string(ranks) +
                                    " ranks, a block holds at most " +
                                    std::to_string(kMaxBlockRanks));
      }
    }
  }
}

}  // namespace

DeviceProgram::DeviceProgram(const DeviceRank& rank, const ProgramCall& call,
                             std::span<const DeviceBuffers> buffers) {
  const RankProgram& program = call.program;
  const auto lanes = static_cast<int>(program.lanes.size());
  const SegmentPlan& plan = rank.plan();
  if (lanes > plan.lanes()) {
    throw std::invalid_argument("device program: " + std::to_string(lanes) +
                                " lanes, the domain has " + std::to_string(plan.lanes()));
  }
  CheckOperands(program);
  call_.rank = program.rank;
  call_.ranks = rank.ranks();
  call_.lanes = lanes;
  call_.slices = call.flow.flow.slices;
  call_.slots = plan.limits().slots;
  call_.slice_bytes = call.flow.slice_bytes;
  call_.slot_bytes = plan.limits().slot_bytes;
  call_.packet_words = plan.PacketWords();
  call_.connections = rank.connections();
  call_.abort = &rank.abort();
  call_.timeout_ns = static_cast<std::uint64_t>(call.timeout_seconds * 1e9);
  WriteTables(rank, program, call.layout, buffers);
  Device& device = rank.device();
  if (program.uses_scratch) {
    scratch_ = device.Allocate(call.layout.BufferBytes(program.rank, Buffer::kScratch),
                               PeerMemoryKind::kCudaIpc);
    call_.scratch = scratch_->data();
  }
  if (lanes == 0) return;
  reports_ = device.AllocateOnHost(lanes * sizeof(BlockReport));
  for (int lane = 0; lane < lanes; ++lane) {
    new (reports_->data() + lane * sizeof(BlockReport)) BlockReport;
  }
  call_.reports = reinterpret_cast<BlockReport*>(reports_->data());
}

void DeviceProgram::WriteTables(const DeviceRank& rank, const RankProgram& program,
                                const Layout& layout, std::span<const DeviceBuffers> buffers) {
  const LoweredProgram lowered = Lower(program, layout);
  const std::size_t lanes = program.lanes.size();
  std::vector<RankGroup> groups(lanes);
  std::vector<BlockBuffers> reached(rank.ranks());
  const std::vector<std::uint64_t> no_tokens(2 * lanes * lanes);
  static_assert(sizeof(BlockLaneTokens) == 2 * sizeof(std::uint64_t));

  Tables tables;
  const auto lane_table = tables.Add(lowered.lanes);
  const auto member_table = tables.Add(lowered.members);
  const auto chunk_table = tables.Add(lowered.chunks);
  const auto group_table = tables.Add(groups);
  const auto buffer_table = tables.Add(reached);
  const auto token_table = tables.Add(no_tokens);

  tables_ = rank.device().Allocate(tables.image().size(), PeerMemoryKind::kCudaIpc);
  std::byte* const there = tables_->data();
  const ByteRange* const chunks = chunk_table.In(there);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const int begin = lowered.group_begin[lane];
    groups[lane] = {begin < 0 ? nullptr : member_table.In(there) + begin, lowered.group_size[lane]};
  }
  for (int r = 0; r < rank.ranks(); ++r) {
    reached[r] = {buffers[r].input, buffers[r].output, chunks + lowered.input_begin[r],
                  chunks + lowered.output_begin[r]};
  }
  tables.Set(group_table, groups);
  tables.Set(buffer_table, reached);
  rank.device().Write(there, tables.image());

  call_.programs = lane_table.In(there);
  call_.groups = group_table.In(there);
  call_.buffers = buffer_table.In(there);
  call_.scratch_chunks = chunks + lowered.scratch_begin;
  call_.lane_tokens = reinterpret_cast<BlockLaneTokens*>(token_table.In(there));
}

std::string DeviceProgram::Complaint() const {
  for (int lane = 0; lane < call_.lanes; ++lane) {
    const BlockReport& report = call_.reports[lane];
    if (report.gave_up == 0) continue;
    return "lane " + std::to_string(lane) + " at step " + std::to_string(report.step);
  }
  return "";
}

}  // namespace hockney
