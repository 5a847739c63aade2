#pragma once

#include <cstdint>
#include <vector>

#include "collectives/program.h"
#include "tuner/simulate/machine.h"
#include "tuner/simulate/rank_code.h"

namespace hockney {

inline constexpr std::uint32_t kNoRecord = 0xffffffff;

// A connection from a lane to a lane of another rank. Message m lies at m modulo the slots.
struct MessageWire {
  std::uint32_t sender = 0;  // lanes
  std::uint32_t receiver = 0;
  SimLevel level = SimLevel::kNode;
  bool by_lane = false;
  bool busy = false;  // a message is on its way out
  bool sender_waits = false;
  bool receiver_waits = false;
  std::uint32_t sent = 0;      // handed over by the lane
  std::uint32_t arrived = 0;   // whose arrival is known; also the one that goes out next
  std::uint32_t consumed = 0;  // whose slot is free again
  float copies = 1;            // connections that this one stands for
  double alpha_seconds = 0;
  double overhead_seconds = 0;
  double bytes_per_second = kUnlimited;
  double byte_factor = 1;
  FlowPath path{};
};

// Tokens that a lane is given by one other lane.
struct TokenWire {
  std::uint32_t receiver = 0;
  bool receiver_waits = false;
  std::uint32_t taken = 0;
  double alpha_seconds = 0;
  struct Token {
    double seconds = 0;
    std::uint32_t record = kNoRecord;
  };
  std::vector<Token> tokens = {};  // given, from `taken` on
};

// A lane of a rank that is simulated, and what it is tied to.
struct LaneEnds {
  int rank_class = 0;
  int lane = 0;
  float copies = 1;                            // ranks that this one stands for
  std::vector<std::uint32_t> wire = {};        // by port: of messages or tokens
  std::vector<std::uint32_t> lane_token = {};  // by lane of the rank: tokens it gives to that lane
};

// All wires between the classes' representatives.
struct Wires {
  std::vector<LaneEnds> lanes = {};  // of class 0, then of class 1, ...
  std::vector<MessageWire> messages = {};
  std::vector<TokenWire> tokens = {};
};

// `codes` are all ranks'. Throws std::logic_error where a port has no other end: such programs are
// not what the verifier accepts.
Wires ConnectLanes(const std::vector<RankCode>& codes, const RankClasses& classes,
                   const ResourceMap& map, Protocol protocol);

}  // namespace hockney
