#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/layout.h"
#include "collectives/program.h"

// The proof of a set of programs, by running all ranks on symbols. Lanes only meet through counted
// tokens and first-in first-out messages with one writer and one reader each, so every order of
// execution gives the same result and the same happens-before relation: one run decides deadlock,
// races and results for all.
namespace hockney {

// How chunks flow through connections: every chunk is moved in `slices` slices, a connection holds
// `slots` of them.
struct Flow {
  int slices = 1;
  int slots = 8;
};

enum class FaultKind : std::uint8_t {
  kWrongResult,  // an output chunk lacks a contribution, has one twice, or is not what the
                 // collective asks for
  kDeadlock,     // lanes wait for each other for ever
  kRace,         // two accesses to a chunk, one a write, in no order; also a peer touching a buffer
                 // outside its call
  kExitState,    // a message or token is not used up in the call that made it
  kBytes,        // operands of unlike size, or traffic other than the algorithm's formula
  kMalformed,    // indices out of range, a written input, a step that does not make sense
};
struct Fault {
  FaultKind kind = FaultKind::kMalformed;
  std::string text;
};

// One message sent, or one access to a peer's memory, in the order of each rank.
struct Transfer {
  int rank = 0;
  int lane = 0;
  int peer = 0;
  int chunks = 1;
  bool message = true;   // false: peer memory
  bool outgoing = true;  // sent or written; false: read (messages are listed at their sender only)
  std::uint64_t bytes = 0;
};

struct Verdict {
  std::optional<Fault> fault;
  bool complete = true;  // false: the budget ended first
  // Of the first call; by rank.
  std::vector<std::uint64_t> wire_bytes;
  std::vector<Transfer> transfers;
};

// The programs of all ranks for one collective call, and the layout they run on.
struct CallPlan {
  std::span<const RankProgram> programs;
  const Layout* layout = nullptr;
  bool in_place = false;
  const RankPlacement* placement =
      nullptr;  // peers' memory ends where the node does; null: nowhere
};

// Runs calls plans[order[0]], plans[order[1]], ... on all ranks, each rank going on to its next
// call as soon as its own part is done and its user has rewritten the buffers in between.
// `budget_seconds` 0 means no limit.
Verdict Verify(std::span<const CallPlan> plans, std::span<const int> order, const Flow& flow,
               double budget_seconds = 0);

// Builds the row's programs for every rank and verifies three calls in a row, with the buffers
// apart and, where the collective has an in-place form, aliased; also the traffic against the row's
// formula where all blocks are even.
Verdict VerifyAlgorithm(const Algorithm& row, const Layout& layout, Parameters parameters,
                        const Flow& flow, double budget_seconds = 0);

// The programs of all ranks.
std::vector<RankProgram> BuildAll(const Algorithm& row, const Shape& shape,
                                  const Parameters& parameters);

std::string_view Name(FaultKind kind);

}  // namespace hockney
