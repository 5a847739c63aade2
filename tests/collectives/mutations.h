#pragma once

#include <string>
#include <vector>

#include "collectives/layout.h"
#include "collectives/program.h"

// Single-step mistakes in a program, for testing that the verifier notices each of them.
namespace hockney {

enum class MutationKind {
  kDelete,       // the step
  kDuplicate,    // the step, done twice in a row
  kSwap,         // the step and the next one
  kOperandPeer,  // an operand's peer, one rank on
  kDropOperand,  // one of several sources or destinations is left out
  kOperandOne,   // an all-form operand names the next rank only
  kChunkStart,   // a memory operand's run starts one on
  kChunkBase,    // the same by its base: another piece, lane or part
  kDeleteWait,   // and so on for the events of a step
  kAddWait,      // for the next rank
  kWaitPeer,     // one rank on (one lane, for lane tokens)
  kWaitOne,      // all-form, for the next rank only
  kDeletePost,
  kAddPost,
  kPostPeer,
  kPostOne,
  kDropFinal,
  kReduceToCopy,  // of the first source
};

struct Mutation {
  MutationKind kind = MutationKind::kDelete;
  int lane = 0;
  int step = 0;
  int index = 0;  // of the operand (sources, then destinations) or the event
};

// All mutations that `program` (3 ranks or more) admits.
std::vector<Mutation> ListMutations(const RankProgram& program);

RankProgram Mutate(const RankProgram& program, const Mutation& mutation);

// For example "duplicate, lane 0 step 3 index 0".
std::string Describe(const Mutation& mutation);

// The memory a program runs on: with `in_place`, input and output overlap as the layout says.
struct Memory {
  const Layout* layout = nullptr;
  bool in_place = false;
};

// The equivalents: why the mutant does the same as the program, or an empty string. Only these
// reasons count:
//   - a swap of two steps that share no connection in the same direction and no chunk that one of
//     them writes, where no data comes before its wait and no post before its data (a post that
//     comes later and a wait that comes earlier only add order);
//   - a send from memory swapped with a post to another lane of the rank, where no later lane
//   writes
//     what is sent;
//   - a token between the phases of a root swapped with a step whose order with the other phase
//     messages to other ranks and back give;
//   - in place, what the root of a broadcast takes back from other ranks, left out;
//   - an event for all others that names the next rank only, in a group of two;
//   - a copy inside the rank's own memory done twice;
//   - in place, a copy of chunks onto themselves that is deleted, swapped or left out of a step;
//   - in place, such a copy that goes to the next block instead, which a message then overwrites.
std::string FindEquivalence(const RankProgram& program, const Mutation& mutation,
                            const Memory& memory);

}  // namespace hockney
