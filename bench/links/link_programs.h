#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/flow.h"
#include "collectives/program.h"

namespace hockney {

// What the pairs of a link measurement do, all at once. `first` of a pair is the one whose time
// counts.
enum class LinkPattern : std::uint8_t {
  kPingPong,  // a message there, then one back: two times the time of one
  kDuplex,    // a message each way at the same time
  kStream,    // `messages` there, one after the other, then word that all have come
  kPost,      // `messages` there; the first has only to get rid of them
};

struct LinkTask {
  LinkPattern pattern = LinkPattern::kPingPong;
  std::vector<std::pair<int, int>> pairs = {};  // of ranks, each rank in at most one
  std::uint64_t bytes = 0;                      // of a message, at most 2^40
  int messages = 1;                             // of kStream and kPost
  int lanes = 1;                                // that share each message
};

// Bytes that a rank sends or receives in the task.
std::uint64_t TotalBytes(const LinkTask& task);

// How a rank works a task off.
struct LinkProgram {
  RankProgram program;
  CallFlow flow;
};

// Returns the program of `rank` among `ranks`: nothing to do if it is in no pair. A message is cut
// into slots as programs of collectives are, so that what is measured is what they will see.
LinkProgram MakeLinkProgram(const LinkTask& task, int rank, int ranks, const FlowLimits& limits);

}  // namespace hockney
