#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/interpreter.h"
#include "collectives/symbols.h"
#include "collectives/verify.h"

namespace hockney {

// All ranks, their buffers, connections and users, on symbols. Machines of the interpreter act on
// it. A fault is thrown as a Fault value and caught by Verify.
class SymbolicWorld {
 public:
  SymbolicWorld(std::span<const CallPlan> plans, std::span<const int> order, const Flow& flow);

  // Lets every lane of every rank run until all calls are done. Throws Fault. Returns false when
  // `deadline` passes first.
  bool RunAll(std::optional<std::chrono::steady_clock::time_point> deadline);

  Verdict TakeVerdict() { return std::move(verdict_); }

 private:
  friend class SymbolicMachine;

  // One chunk's slice on the move.
  struct Part {
    Symbol symbol;
    std::size_t bytes = 0;
  };
  struct Message {
    int call = 0;
    Released clock;
    std::vector<Part> parts;
  };
  template <class T>
  struct Queue {
    std::vector<T> items;
    std::size_t head = 0;
    bool empty() const { return head == items.size(); }
    void Pop() {
      if (++head == items.size()) {
        items.clear();
        head = 0;
      }
    }
  };
  struct Connection {
    Queue<Message> messages;
    Queue<Released> credits;  // of slots that were used and read; the first `slots` sends need none
    int sent = 0;
  };
  struct Token {
    int call = 0;
    Released clock;
  };
  struct RankState {
    int call = 0;                        // index into order_; order_.size() when all are done
    std::vector<std::uint32_t> entered;  // its user's time on entering each call so far
    std::vector<LaneState> lanes;
  };

  const CallPlan& PlanOf(int rank) const { return plans_[order_[ranks_[rank].call]]; }
  const RankProgram& ProgramOf(int rank) const { return PlanOf(rank).programs[rank]; }
  int ThreadOf(int rank, int lane) const { return rank * max_lanes_ + lane; }
  // The user's code runs before and after the lanes, so it shares the first one's thread.
  int UserOf(int rank) const { return ThreadOf(rank, 0); }
  std::string Where(int rank, int lane) const;
  std::string ThreadName(int thread) const;

  std::vector<Cell>& BufferOf(int plan, int rank, Buffer buffer);
  Cell& CellOf(int accessing_rank, int owner, Buffer buffer, int chunk, int slice);
  void CheckGroups(int rank) const;
  void CheckRace(int racer, int thread, const char* what, int owner);

  void EnterCall(int rank);
  void LeaveCall(int rank);
  void CheckOutput(int rank);
  void TouchUserBuffers(int rank, bool entering);
  bool RunRank(int rank);
  [[noreturn]] void ThrowDeadlock() const;
  void CheckNothingLeft() const;
  std::string DescribeWait(int rank, int lane) const;

  // Connections and token counters are made when first used; `index` maps (from, to, lane, kind) to
  // them.
  template <class T>
  T& FindOrMake(std::vector<T>& made, std::size_t from, std::size_t to, std::size_t lane,
                int kind) {
    int& place = index_[((from * rank_count_ + to) * max_lanes_ + lane) * 4 + kind];
    if (place < 0) {
      place = static_cast<int>(made.size());
      made.emplace_back();
    }
    return made[place];
  }
  Connection& ConnectionOf(int from, int to, int lane, Buffer buffer) {
    return FindOrMake(connections_, from, to, lane, buffer == Buffer::kPackets ? 1 : 0);
  }
  // The tokens that `source` gives to `lane` of `rank`.
  Queue<Token>& TokensOf(int rank, int lane, TokenEnd source) {
    if (source.kind == EventKind::kLane) {
      return lane_tokens_[(static_cast<std::size_t>(rank) * max_lanes_ + lane) * max_lanes_ +
                          source.index];
    }
    return FindOrMake(tokens_, source.index, rank, lane, 2);
  }

  std::span<const CallPlan> plans_;
  std::span<const int> order_;
  Flow flow_;
  int rank_count_ = 1;
  int max_lanes_ = 1;
  RankSets sets_;
  Clocks clocks_;
  std::vector<RankState> ranks_;
  std::vector<std::vector<Cell>> cells_;  // [(plan * ranks + rank) * 3 + buffer]
  std::vector<int> index_;
  std::vector<Connection> connections_;
  std::vector<Queue<Token>> tokens_;
  std::vector<Queue<Token>> lane_tokens_;
  Verdict verdict_;
};

// One rank's view of the world while a lane of it advances: a Machine of the interpreter.
class SymbolicMachine {
 public:
  SymbolicMachine(SymbolicWorld& world, int rank) : world_(world), rank_(rank) {}

  int rank() const { return rank_; }
  RankGroup group(int lane) const { return GroupOf(world_.ProgramOf(rank_), lane); }
  bool TokenReady(int lane, TokenEnd source) {
    return !world_.TokensOf(rank_, lane, source).empty();
  }
  void TakeToken(int lane, TokenEnd source);
  void GiveToken(int lane, TokenEnd target);
  bool MessageReady(int lane, int peer, Buffer buffer) {
    return !world_.ConnectionOf(peer, rank_, lane, buffer).messages.empty();
  }
  bool CreditReady(int lane, int peer, Buffer buffer) {
    const auto& connection = world_.ConnectionOf(rank_, peer, lane, buffer);
    return connection.sent < world_.flow_.slots || !connection.credits.empty();
  }
  void Move(int lane, const Step& step, const LoopCounters& at, int slice);
  // Move does the whole of receiving and sending.
  void Consumed(int, int, Buffer) {}
  void Sent(int, int, Buffer) {}

 private:
  using Moved = std::vector<SymbolicWorld::Part>;
  struct Moment {
    const LoopCounters& at;
    int slice;
  };
  static std::uint64_t CountBytes(const Moved& moved);
  Moved ReadSources(int lane, const Step& step, const Moment& now);
  Moved Receive(int lane, int peer, Buffer buffer);
  Moved ReadMemory(int lane, int owner, const Operand& source, const Moment& now);
  void Combine(int lane, const Step& step, Moved& sum, const Moved& next);
  void Send(int lane, int peer, Buffer buffer, const Moved& moved);
  void WriteMemory(int lane, int owner, const Operand& target, const Moved& moved,
                   const Moment& now);
  void CheckWaits(int lane) const;
  void CheckConnections(int lane, const Step& step, const LoopCounters& at) const;
  void CheckStep(int lane, const Step& step) const;
  void CheckOverlap(int lane, const Step& step, const LoopCounters& at) const;
  void CountTransfer(const Transfer& transfer, int slice);
  [[noreturn]] void Throw(int lane, FaultKind kind, const std::string& text) const;

  SymbolicWorld& world_;
  int rank_;
};

}  // namespace hockney
