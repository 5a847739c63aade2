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

// How an executor makes a call ready, as HostExecutor::Prepare.
using Preparer = std::function<std::unique_ptr<Prepared>(const Call& call, const Algorithm& row,
                                                         const CallFlow& flow, StorePolicy store)>;

// Makes a rank's preparer.
using MakePreparer = std::function<Preparer(Session&, HostDomain&)>;

// Runs the case `calls` times with new data each time, all ranks of `session` together. Returns ""
// when every rank's output equals the reference interpreter's bit for bit, no byte around the
// buffers changed and, apart, the input is intact; otherwise what differs. The verdict is rank 0's.
std::string RunCase(Session& session, HostDomain& domain, HostExecutor& executor,
                    const ExecutorCase& test, int calls);
std::string RunCase(Session& session, HostDomain& domain, const Preparer& prepare,
                    const ExecutorCase& test, int calls);

// Runs the cases, one after the other, on `ranks` threads that share one domain of `options`, its
// arena made as large as they need. Returns the first difference, or "". The executor is the
// host's, or what `make_preparer` makes on each rank.
std::string RunCases(int ranks, const std::vector<ExecutorCase>& cases, HostDomain::Options options,
                     int calls, const MakePreparer& make_preparer = {});

// Packets that a rank's inbox still holds after eight long messages on each connection, from
// `first_count` on; of the host's executor, or what `make_preparer` makes. Fails the test if a
// message is wrong.
int CountPacketsLeft(std::uint64_t first_count, const MakePreparer& make_preparer = {});

// Finite values of the type, the same for the same seed.
void FillFinite(DataType type, std::uint64_t seed, std::span<std::byte> bytes);

}  // namespace hockney::testing
