#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/baselines/mpi/mpi_algorithms.h"
#include "collectives/types.h"
#include "tuner/select/tuning.h"

namespace hockney {

// The algorithm of an MPI library from a size on, up to the next rule.
struct MpiRule {
  std::uint64_t min_bytes = 0;     // of nccl-tests' size column
  std::string algorithm = {};      // empty: the library's own choice
  std::int64_t faninout = 0;       // 0: none was set
  std::int64_t segment_bytes = 0;  // 0: messages are not cut
  bool operator==(const MpiRule&) const = default;
};

// The rules of one collective on one number of ranks: ascending, the first from 0 bytes on, no two
// neighbours alike.
struct MpiRules {
  Collective collective = Collective::kAllReduce;
  std::int64_t ranks = 0;
  std::string dtype = {};  // of the rows they were made of
  std::vector<MpiRule> rules = {};
};

// What a tuning knows of one library.
struct MpiTuning {
  std::string library = {};             // name and version, of the first rule
  std::vector<MpiRules> tables = {};    // by collective and ranks, each once
  std::vector<std::string> notes = {};  // what was left out and why
};

// Returns the rules of `tuning` that were measured with libraries of that family. Sizes for which
// there is no such rule are left to the library. Where a collective has several tables for the same
// number of ranks, which no rule file can tell apart, the one of most nodes, float32 sums, out of
// place, counts, with a note.
MpiTuning CollectMpiRules(const Tuning& tuning, MpiFamily family);

}  // namespace hockney
