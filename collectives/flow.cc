#include "collectives/flow.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/interpreter.h"

namespace hockney {
namespace {

template <class Visit>
void ForEachFifo(const RankProgram& program, Visit visit) {
  for (const Lane& lane : program.lanes) {
    for (int s = 0; s < lane.step_count; ++s) {
      const Step& step = lane.steps[s];
      for (int i = 0; i < step.source_count; ++i) {
        if (IsFifo(step.source[i])) visit(step.source[i]);
      }
      for (int i = 0; i < step.destination_count; ++i) {
        if (IsFifo(step.destination[i])) visit(step.destination[i]);
      }
    }
  }
}

std::size_t CeilDivide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

}  // namespace

int LargestMessageChunks(const RankProgram& program) {
  int largest = 0;
  ForEachFifo(program,
              [&](const Operand& fifo) { largest = std::max<int>(largest, fifo.run.count); });
  return largest;
}

CallFlow ChooseFlow(const Algorithm& row, const Counts& counts, DataType type,
                    Parameters parameters, const FlowLimits& limits) {
  std::vector<int> all(static_cast<std::size_t>(counts.ranks));
  std::iota(all.begin(), all.end(), 0);
  return ChooseFlow(FlowCall{row, counts, type, parameters, limits}, all);
}

CallFlow ChooseFlow(const FlowCall& call, std::span<const int> ranks) {
  const auto& [row, counts, type, given, limits] = call;
  Parameters parameters = given;
  const int slices = parameters.slices;
  if (slices < 1 || slices >= limits.slots) {
    throw std::invalid_argument("slices = " + std::to_string(slices) + ": expected 1.." +
                                std::to_string(limits.slots - 1) + " for " +
                                std::to_string(limits.slots) + " slots");
  }
  const Shape shape{.collective = row.collective, .ranks = counts.ranks, .root = counts.root};
  parameters.pieces = 1;
  int message_chunks = 0;
  Cut cut;
  for (const int rank : ranks) {
    const RankProgram program = row.build(shape, rank, parameters);
    message_chunks = std::max(message_chunks, LargestMessageChunks(program));
    cut = program.cut;
  }
  const std::size_t chunk_bytes = Layout(counts, type, cut).LargestChunkBytes();
  CallFlow result{
      .parameters = parameters, .cut = cut, .flow = {1, limits.slots}, .slice_bytes = 0};
  if (message_chunks == 0) {
    result.slice_bytes = limits.memory_slice_bytes;
    result.flow.slices =
        static_cast<int>(std::max<std::size_t>(1, CeilDivide(chunk_bytes, result.slice_bytes)));
    return result;
  }
  const std::size_t slot =
      parameters.protocol == Protocol::kLl ? limits.packet_slot_bytes : limits.slot_bytes;
  result.slice_bytes = slot / message_chunks / 128 * 128;
  if (result.slice_bytes == 0) {
    throw std::invalid_argument("a message of " + std::to_string(message_chunks) +
                                " chunks does not fit a slot of " + std::to_string(slot) +
                                " bytes");
  }
  // Pieces cut at 128-byte offsets, so a piece's chunk is at most the even share rounded up to 128
  // bytes.
  const std::size_t most = result.slice_bytes * slices;
  result.parameters.pieces =
      static_cast<int>(std::max<std::size_t>(1, CeilDivide(chunk_bytes, most)));
  result.cut.chunks = cut.chunks * result.parameters.pieces;
  const std::size_t chunk = Layout(counts, type, result.cut).LargestChunkBytes();
  result.flow.slices =
      static_cast<int>(std::max<std::size_t>(1, CeilDivide(chunk, result.slice_bytes)));
  return result;
}

}  // namespace hockney
