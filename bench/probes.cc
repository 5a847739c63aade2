#include "bench/probes.h"

#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "collectives/memory/host_memory.h"
#include "topology/check.h"
#include "topology/gather_values.h"
#include "topology/machine.h"

namespace hockney {
namespace {

constexpr std::size_t kLeastBytes = 1 << 20;
constexpr int kLeastSamples = 6;  // an interval of the median needs as many
constexpr int kMostSamples = 50;
constexpr double kBudgetSeconds = 0.4;  // a store policy

std::size_t AffordableBytes(Session& local, std::size_t wanted) {
  const std::uint64_t available = AvailableMemory().bytes.value_or(0);
  const std::uint64_t quarter = MinOverRanks(local, available) / 4;
  const std::size_t share = quarter / (2 * static_cast<std::size_t>(local.ranks()));
  return std::max(kLeastBytes, std::min(wanted, share) / kLeastBytes * kLeastBytes);
}

double TimeCopy(Session& local, Kernel kernel, std::span<std::byte> segment) {
  const std::byte* source = segment.data();
  std::byte* destination = segment.data() + segment.size() / 2;
  const KernelArgs args{.sources = &source,
                        .destinations = &destination,
                        .source_count = 1,
                        .destination_count = 1,
                        .count = segment.size() / 2};
  local.Barrier();
  const auto begin = std::chrono::steady_clock::now();
  kernel(args);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

CopyRate MeasureCopy(Session& local, StorePolicy store, std::span<std::byte> segment) {
  const Kernel kernel = FindKernel(DataType::kUint8, ReduceOp::kSum, store);
  const double first = MaxOverRanks(local, TimeCopy(local, kernel, segment));
  const int samples = static_cast<int>(std::clamp(kBudgetSeconds / std::max(first, 1e-6),
                                                  double{kLeastSamples}, double{kMostSamples}));
  std::vector<double> rates;
  for (int i = 0; i < samples; ++i) {
    const double seconds = MaxOverRanks(local, TimeCopy(local, kernel, segment));
    rates.push_back(static_cast<double>(segment.size()) * local.ranks() / seconds);
  }
  return {.median = Median(rates), .interval = MedianInterval(rates)};
}

// A word of a process that others may try to read.
struct Window {
  std::int64_t pid = 0;
  const std::uint64_t* address = nullptr;  // as that process sees it
  std::uint64_t value = 0;
};

// Returns the errno of reading the word, or 0; EIO where another value came than lies there.
int ReadWindow(const Window& peer) {
  std::uint64_t value = 0;
  const iovec here{.iov_base = &value, .iov_len = sizeof value};
  const iovec there{.iov_base = const_cast<std::uint64_t*>(peer.address), .iov_len = sizeof value};
  const auto got = process_vm_readv(static_cast<pid_t>(peer.pid), &here, 1, &there, 1, 0);
  if (got < 0) return errno;
  return value == peer.value ? 0 : EIO;
}

}  // namespace

MemoryProbe ProbeMemory(Session& local, std::size_t buffer_bytes) {
  MemoryProbe probe;
  probe.buffer_bytes = AffordableBytes(local, buffer_bytes);
  try {
    const auto memory = HostMemory::Create(local, 2 * probe.buffer_bytes);
    probe.page_kib = memory->page_kib(0);
    const std::span<std::byte> segment = memory->Segment(local.rank());
    probe.cached = MeasureCopy(local, StorePolicy::kCached, segment);
    probe.non_temporal = MeasureCopy(local, StorePolicy::kNonTemporal, segment);
  } catch (const EnvironmentError& error) {
    // Little memory is something to show, not to end on; Create throws it on every rank alike.
    probe.reason = error.what();
  }
  return probe;
}

std::string ProbeCrossMemoryAttach(Session& local) {
  if (local.kind() == RankKind::kThreads) return "not applicable: ranks are threads";
  const int ranks = local.ranks();
  if (ranks == 1) return "not applicable: one rank on this host";
  const std::uint64_t word = 0x9e3779b97f4a7c15U * (static_cast<unsigned>(getpid()) | 1U);
  const Window mine{.pid = getpid(), .address = &word, .value = word};
  const std::vector<Window> windows = GatherValues(local, mine);
  struct Outcome {
    int peer = -1;
    int error = 0;
  };
  Outcome outcome;
  for (const int step : {1, ranks - 1}) {
    const int peer = (local.rank() + step) % ranks;
    const int error = ReadWindow(windows[peer]);
    if (error != 0) outcome = {.peer = peer, .error = error};
  }
  // This gather also keeps every word in place until all have read it.
  const std::vector<Outcome> outcomes = GatherValues(local, outcome);
  for (int rank = 0; rank < ranks; ++rank) {
    if (outcomes[rank].error == 0) continue;
    return fmt::format("denied: local rank {} reading rank {}: {}", rank, outcomes[rank].peer,
                       strerrordesc_np(outcomes[rank].error));
  }
  return "allowed";
}

}  // namespace hockney
