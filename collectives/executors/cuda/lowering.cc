#include "collectives/executors/cuda/lowering.h"

#include <algorithm>

#include "collectives/interpreter.h"
#include "collectives/partners.h"

namespace hockney {
namespace {

// Returns where the chunks of a buffer begin in `chunks`.
std::size_t AddChunks(const Layout& layout, int rank, Buffer buffer,
                      std::vector<ByteRange>& chunks) {
  const std::size_t begin = chunks.size();
  const int count = layout.ChunkCount(rank, buffer);
  for (int chunk = 0; chunk < count; ++chunk) chunks.push_back(layout.Find(rank, buffer, chunk));
  return begin;
}

}  // namespace

LoweredProgram Lower(const RankProgram& program, const Layout& layout) {
  LoweredProgram lowered;
  lowered.lanes = program.lanes;
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const RankGroup group = GroupOf(program, static_cast<int>(lane));
    lowered.group_size.push_back(group.size);
    lowered.group_begin.push_back(
        group.members == nullptr ? -1 : static_cast<std::int32_t>(lowered.members.size()));
    if (group.members == nullptr) continue;
    lowered.members.insert(lowered.members.end(), group.members, group.members + group.size);
  }
  const std::vector<int> peers = MemoryPartnersOf(program);
  for (int rank = 0; rank < program.shape.ranks; ++rank) {
    const bool is_reached =
        rank == program.rank || std::find(peers.begin(), peers.end(), rank) != peers.end();
    lowered.input_begin.push_back(
        is_reached ? AddChunks(layout, rank, Buffer::kInput, lowered.chunks) : 0);
    lowered.output_begin.push_back(
        is_reached ? AddChunks(layout, rank, Buffer::kOutput, lowered.chunks) : 0);
  }
  lowered.scratch_begin = lowered.chunks.size();
  if (program.uses_scratch) {
    AddChunks(layout, program.rank, Buffer::kScratch, lowered.chunks);
  }
  return lowered;
}

}  // namespace hockney
