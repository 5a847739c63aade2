#include "collectives/verify.h"

#include <chrono>
#include <cmath>

#include "collectives/symbolic_world.h"

namespace hockney {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The formula counts fractions of an even vector; programs are held to it when every chunk has the
// same bytes.
std::optional<Fault> CheckTraffic(const Algorithm& row, const Layout& layout, const Shape& shape,
                                  const Parameters& parameters, const Verdict& verdict) {
  const std::size_t chunk = layout.LargestChunkBytes();
  std::uint64_t size = 0;
  for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      size = std::max<std::uint64_t>(size, layout.BufferBytes(rank, buffer));
      for (int c = 0; c < layout.ChunkCount(rank, buffer); ++c) {
        // The formulas are of whole grids: messages of holes are fewer bytes.
        if (layout.Find(rank, buffer, c).bytes != chunk) return std::nullopt;
      }
    }
  }
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const double expected = row.wire_fraction(shape, rank, parameters) * static_cast<double>(size);
    const auto moved = static_cast<double>(verdict.wire_bytes[rank]);
    if (std::abs(moved - expected) > 0.5) {
      return Fault{FaultKind::kBytes, "rank " + std::to_string(rank) + " moves " +
                                          std::to_string(verdict.wire_bytes[rank]) +
                                          " bytes, the formula says " + std::to_string(expected)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kWrongResult:
      return "wrong result";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kRace:
      return "race";
    case FaultKind::kExitState:
      return "exit state";
    case FaultKind::kBytes:
      return "bytes";
    case FaultKind::kMalformed:
      return "malformed";
  }
  return "unknown";
}

std::vector<RankProgram> BuildAll(const Algorithm& row, const Shape& shape,
                                  const Parameters& parameters) {
  std::vector<RankProgram> programs;
  programs.reserve(shape.ranks);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    programs.push_back(row.build(shape, rank, parameters));
  }
  return programs;
}

Verdict Verify(std::span<const CallPlan> plans, std::span<const int> order, const Flow& flow,
               double budget_seconds) {
  std::optional<SteadyClock::time_point> deadline;
  if (budget_seconds > 0) {
    deadline = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                        std::chrono::duration<double>(budget_seconds));
  }
  SymbolicWorld world(plans, order, flow);
  try {
    const bool complete = world.RunAll(deadline);
    Verdict verdict = world.TakeVerdict();
    verdict.complete = complete;
    return verdict;
  } catch (const Fault& fault) {
    Verdict verdict = world.TakeVerdict();
    verdict.fault = fault;
    return verdict;
  }
}

Verdict VerifyAlgorithm(const Algorithm& row, const Layout& layout, Parameters parameters,
                        const Flow& flow, double budget_seconds) {
  const Counts& counts = layout.counts();
  const Shape shape{.collective = row.collective, .ranks = counts.ranks, .root = counts.root};
  constexpr int kThreeCalls[] = {0, 0, 0};
  Verdict first;
  for (const bool in_place : {false, true}) {
    if (in_place && !layout.FindInPlace(0).supported) continue;
    parameters.in_place = in_place;
    const std::vector<RankProgram> programs = BuildAll(row, shape, parameters);
    const CallPlan plan{.programs = programs,
                        .layout = &layout,
                        .in_place = in_place,
                        .placement = parameters.placement};
    Verdict verdict = Verify({&plan, 1}, kThreeCalls, flow, budget_seconds / 2);
    if (!verdict.fault && verdict.complete) {
      verdict.fault = CheckTraffic(row, layout, shape, parameters, verdict);
    }
    if (verdict.fault) {
      verdict.fault->text =
          std::string(row.name) + (in_place ? " in place: " : ": ") + verdict.fault->text;
      return verdict;
    }
    if (in_place) {
      first.complete = first.complete && verdict.complete;
    } else {
      first = std::move(verdict);
    }
  }
  return first;
}

}  // namespace hockney
