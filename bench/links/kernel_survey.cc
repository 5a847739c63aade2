#include "bench/links/kernel_survey.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>

#include "bench/signals.h"
#include "collectives/kernels/kernels.h"
#include "collectives/memory/host_memory.h"
#include "topology/check.h"
#include "tuner/bandwidth.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::uint64_t kAlignment = 4096;
constexpr std::uint64_t kOperands = 3;
constexpr std::uint64_t kCoreSliceBytes =
    16 * 1024;  // three are more than an L1 and less than any L2
constexpr std::uint64_t kMemorySliceBytes = std::uint64_t{1} << 20;
constexpr int kLeastSamples = 6;  // an interval of the median needs as many
constexpr int kMostSamples = 30;
constexpr double kMostPasses = 1e6;     // a sample
constexpr double kAloneSeconds = 1e-4;  // of a sample, long against a clock's tick
// Long against the time between the ranks' ways out of a barrier.
constexpr double kTogetherSeconds = 1e-3;

// A kernel and its operands.
struct Pass {
  const char* kernel = "copy";
  DataType type = DataType::kUint8;
  StorePolicy store = StorePolicy::kCached;

  std::size_t sources() const { return std::strcmp(kernel, "copy") == 0 ? 1 : 2; }
};

// A copy is the same for every type.
std::vector<Pass> AllPasses() {
  std::vector<Pass> passes;
  for (const StorePolicy store : {StorePolicy::kCached, StorePolicy::kNonTemporal}) {
    passes.push_back({.store = store});
    for (const DataType type : kAllDataTypes) passes.push_back({"sum", type, store});
  }
  return passes;
}

std::uint64_t RoundUp(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Passes of the ranks of one host over their own memory.
class Bench {
 public:
  // `room` is this rank's.
  Bench(Session& local, std::span<std::byte> room, double row_seconds)
      : local_(local), room_(room), row_seconds_(row_seconds) {}

  // Returns, on local rank 0, samples in us of one pass of the slowest of `ranks`: 1 is local rank
  // 0 alone, else all. Collective over the host.
  std::vector<double> Time(const Pass& pass, const SliceClass& slices, int ranks);

 private:
  double Run(const Pass& pass, const SliceClass& slices, int passes);
  double Slowest(double mine);
  std::vector<double> Slowest(const std::vector<double>& mine);

  Session& local_;
  std::span<std::byte> room_;
  double row_seconds_;
  std::uint64_t offset_ = 0;  // of the next slice in each operand's room
};

// Seconds of one pass, the mean of `passes`.
double Bench::Run(const Pass& pass, const SliceClass& slices, int passes) {
  const Kernel kernel = FindKernel(pass.type, ReduceOp::kSum, pass.store);
  std::array<const std::byte*, 2> sources{};
  std::byte* destination = nullptr;
  const KernelArgs args{.sources = sources.data(),
                        .destinations = &destination,
                        .source_count = pass.sources(),
                        .destination_count = 1,
                        .count = slices.bytes / ElementBytes(pass.type)};
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < passes; ++i) {
    if (offset_ + slices.bytes > slices.room_bytes) offset_ = 0;
    sources = {room_.data() + offset_, room_.data() + slices.room_bytes + offset_};
    destination = room_.data() + 2 * slices.room_bytes + offset_;
    kernel(args);
    offset_ += slices.bytes;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return time.count() / passes;
}

std::vector<double> Bench::Slowest(const std::vector<double>& mine) {
  std::vector<double> slowest = mine;
  for (const auto& bytes : local_.AllGather(std::as_bytes(std::span(mine)))) {
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      double theirs = 0;
      std::memcpy(&theirs, bytes.data() + i * sizeof theirs, sizeof theirs);
      slowest[i] = std::max(slowest[i], theirs);
    }
  }
  return slowest;
}

double Bench::Slowest(double mine) { return Slowest(std::vector<double>{mine})[0]; }

std::vector<double> Bench::Time(const Pass& pass, const SliceClass& slices, int ranks) {
  std::vector<double> times;
  const bool together = ranks > 1;
  if (together || local_.rank() == 0) {
    Run(pass, slices, 2);  // brings in what caches can hold
    double first = std::max(Run(pass, slices, 2), 1e-8);
    if (together) first = Slowest(first);
    const double sample_seconds = together ? kTogetherSeconds : kAloneSeconds;
    const auto passes = static_cast<int>(std::clamp(sample_seconds / first, 1.0, kMostPasses));
    // With the barrier, which takes long where something else keeps the cores busy.
    const auto begin = std::chrono::steady_clock::now();
    if (together) local_.Barrier();
    Run(pass, slices, passes);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double sample = together ? Slowest(took.count()) : took.count();
    const auto samples =
        static_cast<int>(std::clamp<double>(row_seconds_ / sample, kLeastSamples, kMostSamples));
    times.reserve(samples);
    for (int i = 0; i < samples; ++i) {
      if (together) local_.Barrier();
      times.push_back(1e6 * Run(pass, slices, passes));
    }
    if (together) times = Slowest(times);
  }
  if (!together) local_.Barrier();
  return times;
}

KernelRow MakeRow(const Pass& pass, const SliceClass& slices, int ranks,
                  std::span<const double> times_us) {
  const Summary summary = Summarize(times_us);
  KernelRow row;
  row.kernel = pass.kernel;
  row.dtype = pass.type;
  row.store = pass.store == StorePolicy::kCached ? "cached" : "non_temporal";
  row.ranks_at_once = ranks;
  row.size_bytes = slices.bytes;
  row.size_class = slices.name;
  row.time_us_median = summary.median;
  if (summary.ci_confident) {
    row.time_us_ci_low = summary.ci_low;
    row.time_us_ci_high = summary.ci_high;
  }
  const std::uint64_t moved = (pass.sources() + 1) * slices.bytes;
  row.rate_GBps = RateGBps(moved * static_cast<std::uint64_t>(ranks), summary.median);
  return row;
}

// What rank 0 tells all ranks; plain data.
struct Order {
  std::uint64_t l2_bytes = 0;
  std::uint64_t llc_bytes = 0;
  std::int32_t llc_ranks = 1;
  std::int32_t ranks = 1;  // of rank 0's host
};

template <class T>
T FromRank0(Session& session, T value) {
  session.Broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
  return value;
}

bool IsWithRank0(Session& session, Session& local) {
  const auto mine = static_cast<std::byte>(session.rank() == 0);
  bool found = false;
  for (const auto& theirs : local.AllGather(std::span(&mine, 1))) {
    found = found || theirs.at(0) != std::byte{0};
  }
  return found;
}

std::uint64_t RoomBytes(std::span<const SliceClass> classes) {
  std::uint64_t bytes = 0;
  for (const SliceClass& each : classes) bytes = std::max(bytes, kOperands * each.room_bytes);
  return bytes;
}

}  // namespace

std::vector<SliceClass> SliceClasses(const CacheSizes& caches, int ranks) {
  const auto sharers =
      static_cast<std::uint64_t>(std::clamp(ranks, 1, std::max(1, caches.llc_ranks)));
  const std::uint64_t share = caches.llc_bytes / sharers;
  std::vector<SliceClass> classes = {{"l2", kCoreSliceBytes, kCoreSliceBytes}};
  const std::uint64_t cached = share / 4 / kOperands / kAlignment * kAlignment;
  if (kOperands * cached > 2 * caches.l2_bytes) classes.push_back({"llc", cached, cached});
  // Copies have two operands: these are twice the cache then.
  const std::uint64_t slice = std::min(kMemorySliceBytes, std::max(kAlignment, RoundUp(share)));
  const std::uint64_t room = (share + slice - 1) / slice * slice;
  classes.push_back({"memory", slice, std::max(slice, room)});
  return classes;
}

KernelFindings SurveyKernels(Session& session, Session& local, const KernelOptions& options,
                             const std::function<void(const KernelRow&)>& emit) {
  const bool here = IsWithRank0(session, local);
  const Order order = FromRank0(session, Order{.l2_bytes = options.caches.l2_bytes,
                                               .llc_bytes = options.caches.llc_bytes,
                                               .llc_ranks = options.caches.llc_ranks,
                                               .ranks = local.ranks()});
  const CacheSizes caches{order.l2_bytes, order.llc_bytes, order.llc_ranks};
  std::vector<std::pair<int, std::vector<SliceClass>>> parts = {{1, SliceClasses(caches, 1)}};
  if (order.ranks > 1 && !options.ranks_share_cores) {
    parts.emplace_back(order.ranks, SliceClasses(caches, order.ranks));
  }
  KernelFindings findings;
  std::shared_ptr<HostMemory> memory;
  std::int32_t has_memory = 1;
  if (here) {
    std::uint64_t bytes = RoomBytes(parts.back().second);
    if (local.rank() == 0) bytes = std::max(bytes, RoomBytes(parts.front().second));
    try {
      memory = HostMemory::Create(local, bytes);
    } catch (const EnvironmentError& error) {  // on every rank of the host alike
      findings.reason = error.what();
      has_memory = 0;
    }
  }
  if (FromRank0(session, has_memory) == 0) return findings;
  std::unique_ptr<Bench> bench;
  if (here)
    bench = std::make_unique<Bench>(local, memory->Segment(local.rank()), options.row_seconds);
  for (const auto& [ranks, classes] : parts) {
    for (const SliceClass& slices : classes) {
      for (const Pass& pass : AllPasses()) {
        std::vector<double> times;
        if (here) times = bench->Time(pass, slices, ranks);
        if (session.rank() == 0) {
          KernelRow row = MakeRow(pass, slices, ranks, times);
          row.host = options.host;
          emit(row);
          findings.rows.push_back(std::move(row));
        }
        // No rank waits longer for another than a row takes, and all hear of the user's wish.
        findings.finished = FromRank0(session, InterruptGuard::Signal()) == 0;
        if (!findings.finished) return findings;
      }
    }
  }
  return findings;
}

}  // namespace hockney
