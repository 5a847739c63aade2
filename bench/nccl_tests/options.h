#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/types.h"

namespace hockney {

// When ranks wait for each other within a row (-z). An iteration (-n) is -m calls.
enum class Blocking : std::uint8_t {
  kNone,              // calls follow each other
  kCallBarrier,       // each call is waited for, then a barrier; both are timed
  kCall,              // each call is waited for
  kIterationBarrier,  // the calls of an iteration are waited for, then a barrier that is not timed
};

// Which time of a row is reported when ranks differ (-a).
enum class RankAverage : std::uint8_t { kRank0, kMean, kLeast, kGreatest };

// What nccl-tests' programs are asked for; the defaults are those of v2.19.
struct NcclTestsOptions {
  bool help = false;  // -h: print NcclTestsHelp (flags.h); nothing else counts
  int threads = 1;    // -t
  int gpus = 1;       // -g: ranks a thread
  std::uint64_t begin_bytes = 32 << 20;
  std::uint64_t end_bytes = 32 << 20;
  std::uint64_t factor = 1;  // 1: by increment_bytes
  std::uint64_t increment_bytes = 1 << 20;
  std::vector<std::uint64_t> sizes = {32 << 20};  // what the four above give, in bytes
  int iterations = 20;
  int warmups = 1;
  int aggregated = 1;  // calls an iteration
  int cycles = 1;      // times all sizes are run; 0: until stopped
  int checks = 1;      // 0: none, #wrong is N/A
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  std::vector<DataType> types = {DataType::kFloat32};
  int root = 0;  // -1: every rank in turn
  Blocking blocking = Blocking::kNone;
  double timeout_seconds = 0;  // 0: none asked for; hockney's own deadline stays
  bool timestamps = false;
  std::string json_path = {};  // empty: no file
  RankAverage average = RankAverage::kMean;
  int unalign = 0;  // elements by which buffers are shifted
  bool per_iteration = false;
  int per_iteration_skip = 0;  // below `iterations`

  // hockney's own.
  std::string algorithm = {};  // empty: the program's choice
  std::string implementation = "hockney";
  std::optional<int> local = {};            // rank threads, instead of threads * gpus
  std::optional<int> local_processes = {};  // processes to start here
  std::string out = {};                     // run folder; empty: none
  std::optional<int> expect_ranks = {};
  std::uint64_t seed = 1;

  bool operator==(const NcclTestsOptions&) const = default;
};

// Rank threads of each process: --local, else -t times -g.
int RankThreads(const NcclTestsOptions& options);

// Reads the command line of the program for `collective`, the program's name first in `words`.
// Throws BadSizesError (exit_code.h) for sizes, UsageError for anything else that is wrong,
// unknown, GPU only or contradictory, naming the option and the text: nothing is ignored. Unlike
// nccl-tests, numbers are decimal without sign or fraction (no 0x10, no 1.5M) and long names are
// complete.
NcclTestsOptions ParseNcclTestsOptions(Collective collective, std::span<const std::string> words);

}  // namespace hockney
