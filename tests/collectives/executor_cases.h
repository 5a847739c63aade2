#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/executors/host/host_executor.h"

namespace hockney::testing {

// One collective call to be run by the host executor and compared with the reference interpreter.
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

// Both outlive what is returned.
Ground HostGround(HostDomain& domain, HostExecutor& executor);

// Makes a rank's ground, with what it consists of.
using MakeGround = std::function<Ground(Session&, const HostDomain::Options&)>;
// The host executor.
Ground MakeHostGround(Session& session, const HostDomain::Options& options);

// Runs the case `calls` times with new data each time, all ranks of `session` together. Returns ""
// when every rank's output equals the reference interpreter's bit for bit, no byte around the
// buffers changed and, apart, the input is intact; otherwise what differs. The verdict is rank 0's.
std::string RunCase(Session& session, const Ground& ground, const ExecutorCase& test, int calls);

// Runs the cases, one after the other, on `ranks` threads that share one ground of `options`, its
// arena made as large as they need. Returns the first difference, or "".
std::string RunCases(int ranks, const std::vector<ExecutorCase>& cases, HostDomain::Options options,
                     int calls, const MakeGround& make_ground = MakeHostGround);

// Packets that rank 0's inbox still holds after eight long messages on each connection, from
// `first_count` on. Fails the test if a message is wrong.
int CountPacketsLeft(std::uint64_t first_count, const MakeGround& make_ground = MakeHostGround);

// Finite values of the type, the same for the same seed.
void FillFinite(DataType type, std::uint64_t seed, std::span<std::byte> bytes);

}  // namespace hockney::testing
