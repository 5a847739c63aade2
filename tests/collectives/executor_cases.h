#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/executors/executor.h"
#include "collectives/executors/segment_plan.h"
#include "collectives/flow.h"
#include "collectives/kernels/kernels.h"
#include "topology/session.h"

namespace hockney::testing {

// One collective call to be run by an executor and compared with the reference interpreter. Nothing
// here needs a test framework or a certain executor, so that gpu_check has it too.
struct ExecutorCase {
  const Algorithm* row = nullptr;
  Parameters parameters{};
  Counts counts{};
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  bool in_place = false;
  std::size_t misalignment = 0;  // bytes by which buffers miss a 128-byte boundary
  StorePolicy store = StorePolicy::kCached;
};

std::string Describe(const ExecutorCase& test);

// Arena bytes a case needs.
std::size_t ArenaBytes(const ExecutorCase& test);

// Every row but hierarchical, with counts, types, operators, slices and lanes by turns.
std::vector<ExecutorCase> EveryRow(int ranks, Protocol protocol);

// The options with an arena that is large enough for the cases.
DomainOptions WithRoomFor(const std::vector<ExecutorCase>& cases, DomainOptions options);

// A case on its way through an executor with these limits.
class PlannedCase {
 public:
  PlannedCase(ExecutorCase test, const FlowLimits& limits);
  const ExecutorCase& test() const { return test_; }
  const CallFlow& flow() const { return flow_; }
  const Layout& layout() const { return layout_; }
  // The call of a rank whose arena begins at `arena`.
  Call MakeCall(int rank, std::byte* arena) const;
  // What the rank's arena begins with before the call with data of `seed`.
  std::vector<std::byte> Before(int rank, std::uint64_t seed) const;
  // Where the ranks' arenas after that call differ from what they must be; or "".
  std::string Compare(std::uint64_t seed, std::span<const std::vector<std::byte>> arenas) const;

 private:
  ExecutorCase test_;
  CallFlow flow_;
  Layout layout_;
};

// What a rank runs cases on: an executor and its arena, which need not be memory of the host.
struct Ground {
  std::byte* arena = nullptr;
  FlowLimits limits{};
  // As HostExecutor::Prepare.
  std::function<std::unique_ptr<Prepared>(const Call& call, const Algorithm& row,
                                          const CallFlow& flow, StorePolicy store)>
      prepare;
  // Write to, and read from, the beginning of the arena.
  std::function<void(std::span<const std::byte>)> write;
  std::function<std::vector<std::byte>(std::size_t bytes)> read;
  // The words of packets from `peer` on lane 0.
  std::function<std::vector<std::uint64_t>(int peer)> packets;
  std::shared_ptr<void> parts;  // what all that refers to, if it is the ground's own
};

// Makes a rank's ground, with what it consists of.
using MakeGround = std::function<Ground(Session&, const DomainOptions&)>;

// Runs the case `calls` times with new data each time, all ranks of `session` together. Returns ""
// when every rank's output equals the reference interpreter's bit for bit, no byte around the
// buffers changed and, apart, the input is intact; otherwise what differs. The verdict is rank 0's.
std::string RunCase(Session& session, const Ground& ground, const ExecutorCase& test, int calls);

// Runs the cases, one after the other, on `ranks` threads that share one ground of `options`, its
// arena made as large as they need. Returns the first difference, or "".
std::string RunCases(int ranks, const std::vector<ExecutorCase>& cases,
                     const DomainOptions& options, int calls, const MakeGround& make_ground);

// Packets that rank 0's inbox still holds after eight long messages on each connection, from
// `first_count` on; -1 if a message is wrong.
int CountPacketsLeft(std::uint64_t first_count, const MakeGround& make_ground);

// Finite values of the type, the same for the same seed.
void FillFinite(DataType type, std::uint64_t seed, std::span<std::byte> bytes);

}  // namespace hockney::testing
