#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "collectives/placement.h"
#include "collectives/types.h"

// The Program: what one rank does in one collective, as data. See README "The Program in one page".
// Steps speak of chunks (indices), never of bytes; Layout turns a chunk into bytes.
namespace hockney {

// Where an operand lies. Ranks are counted within the lane's group (Lane::group); the all-forms
// stand for every rank of it in order, this one included.
enum class Place : std::uint8_t {
  kSelf,      // this rank's buffer
  kPeer,      // rank `peer`'s buffer, read or written in place
  kAllPeers,  // every rank's buffer
  kFifo,  // the connection with rank `peer` on this lane: a source receives, a destination sends
  kAllFifos,  // the connections with every rank on this lane
};

// kSlots and kPackets go with the fifo places: slots carry plain data announced by a counter
// (protocol "simple"), packets carry a flag beside every 4 bytes (protocol "ll").
enum class Buffer : std::uint8_t { kInput, kOutput, kScratch, kSlots, kPackets };

enum class Protocol : std::uint8_t { kSimple, kLl };

// The loop counters of a lane: [0] counts pieces, [1] and [2] are the loops inside.
inline constexpr int kLoopDepth = 3;
struct LoopCounters {
  std::int32_t i[kLoopDepth] = {0, 0, 0};
};

// A rank that moves with the inner loops: (start + inner*i1 + inner2*i2) mod the group's ranks.
struct PeerIndex {
  std::int16_t start = 0;
  std::int16_t inner = 0;
  std::int16_t inner2 = 0;
};

// `count` chunks moved as one message, `fine` of them for each unit counted. Chunk j, of unit
// n = j / fine, is
//   base + outer*i0 + scale * ((start + inner*i1 + inner2*i2 + (n / block)*stride + n % block) mod
//   modulus) + fine_stride * (j % fine),
// without the mod when modulus is 0.
struct ChunkRun {
  std::int32_t base = 0;
  std::int32_t outer = 0;
  std::int32_t scale = 1;
  std::int16_t start = 0;
  std::int16_t inner = 0;
  std::int16_t inner2 = 0;
  std::int16_t modulus = 0;
  std::int16_t count = 1;
  std::int16_t block = 1;
  std::int16_t stride = 1;
  std::int16_t fine = 1;
  std::int32_t fine_stride = 1;
};

struct Operand {
  Place place = Place::kSelf;
  Buffer buffer = Buffer::kInput;
  PeerIndex peer{};
  ChunkRun run{};  // fifo operands: only run.count matters
};

enum class EventKind : std::uint8_t {
  kPeer,      // the token counter between this rank and `peer` on this lane
  kAllPeers,  // the same with every other rank
  kLane,      // the token counter between this lane and lane `peer.start` of this rank
};

// A wait takes one token, a post gives one. Tokens between a pair on a lane are counted, never
// named, so programs may follow each other without a reset.
struct Event {
  EventKind kind = EventKind::kPeer;
  PeerIndex peer{};
};

inline constexpr int kMaxEvents = 2;
inline constexpr int kMaxOperands = 3;

// One pass over the data: take all waits (before the first slice), then slice by slice read the
// sources, combine them in listed order, write all destinations; give all posts (after the last
// slice).
struct Step {
  bool reduce = false;  // combine with the collective's operator; false: the one source is copied
  bool final = false;   // this write completes a reduction (integer averages divide here)
  std::uint8_t wait_count = 0;
  std::uint8_t source_count = 0;
  std::uint8_t destination_count = 0;
  std::uint8_t post_count = 0;
  Event wait[kMaxEvents]{};
  Event post[kMaxEvents]{};
  Operand source[kMaxOperands]{};
  Operand destination[kMaxOperands]{};
};

// Steps [begin, end) are done `count` (>= 1) times with counter `depth`. Inner loops come first in
// Lane::loops.
struct Loop {
  std::int16_t begin = 0;
  std::int16_t end = 0;
  std::int16_t depth = 0;
  std::int32_t count = 1;
};

inline constexpr int kMaxSteps = 72;
inline constexpr int kMaxLoops = 20;

struct Lane {
  std::int16_t group = -1;  // of RankProgram::groups; -1: all ranks
  std::int16_t step_count = 0;
  std::int16_t loop_count = 0;
  Loop loops[kMaxLoops]{};
  Step steps[kMaxSteps]{};
};
static_assert(std::is_trivially_copyable_v<Lane>);

// How the vector of a collective is cut for a program: each block over `lanes`, each lane into
// `chunks`.
// A program may count in a grid of its own: `grid[i]` is the block (part of a piece, in collectives
// of one block) that it calls i, or -1 for a hole, whose chunks are empty. No grid: as they come.
struct Cut {
  std::int32_t lanes = 1;
  std::int32_t chunks = 1;
  std::int32_t scratch_copies = 1;  // of the vector that scratch holds one behind the other
  std::vector<std::int32_t> grid = {};
};

struct Shape {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;
};

// The rows of the table that `hierarchical` is made of: inside nodes, between the nodes of a rack
// (empty: racks do not matter), and on top. Names of rows, of static life.
struct Levels {
  std::string_view intra = {};
  std::string_view rack = {};
  std::string_view inter = {};
  bool operator==(const Levels&) const = default;
};

// What a sweep or the tuner varies. Builders see all but the store policy and bytes, which belong
// to executors.
struct Parameters {
  Protocol protocol = Protocol::kSimple;
  int lanes = 1;          // data lanes: the vector is cut over them and they run at the same time
  int pieces = 1;         // repetitions of the schedule over successive parts of the vector
  int slices = 2;         // most slices of a chunk on its way through a connection
  int aggregation = 0;    // most chunks in a message of `pat`; 0 = no limit
  bool in_place = false;  // output and input overlap at NCCL's in-place offsets
  Levels levels{};        // of `hierarchical`; empty: its usual ones
  // Where the ranks are; null: on one node. Not owned, outlives what is built with it.
  const RankPlacement* placement = nullptr;
  const PlacedRanks* placed = nullptr;  // of the placement, or null: looked up by who needs it
};

struct RankProgram {
  Shape shape{};
  int rank = 0;
  Cut cut{};
  bool uses_scratch = false;  // scratch mirrors the larger of input and output, chunk by chunk
  std::vector<std::vector<std::int16_t>> groups = {};  // ranks that lanes run among, in their order
  std::vector<Lane> lanes;
};

}  // namespace hockney
