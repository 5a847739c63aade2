#include "bench/timing.h"

#include <algorithm>
#include <cstring>

namespace hockney {
namespace {

// The clock readings of one rank for one place: entry, exit, or entry and the end of every call.
using Stamps = std::span<const std::int64_t>;

std::size_t StampCount(const Timed& thing) {
  return thing.times_calls ? 1 + thing.calls.size() : 2;
}

double Microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

Sample Combine(const std::vector<Stamps>& by_rank, const Timed& thing) {
  std::int64_t first_entry = by_rank[0].front();
  std::int64_t last_entry = first_entry;
  std::int64_t last_exit = by_rank[0].back();
  const auto calls = static_cast<double>(thing.calls.size());
  Sample sample;
  for (const Stamps& stamps : by_rank) {
    first_entry = std::min(first_entry, stamps.front());
    last_entry = std::max(last_entry, stamps.front());
    last_exit = std::max(last_exit, stamps.back());
    sample.rank_us.push_back(Microseconds(stamps.back() - stamps.front()) / calls);
  }
  const auto longest = std::max_element(sample.rank_us.begin(), sample.rank_us.end());
  sample.slowest_rank = static_cast<int>(longest - sample.rank_us.begin());
  sample.time_us = Microseconds(last_exit - first_entry) / calls;
  sample.entry_skew_ns = static_cast<double>(last_entry - first_entry);
  for (std::size_t call = 0; call < thing.calls.size() && thing.times_calls; ++call) {
    std::int64_t most = 0;
    for (const Stamps& stamps : by_rank) most = std::max(most, stamps[call + 1] - stamps[call]);
    sample.call_us.push_back(Microseconds(most));
  }
  return sample;
}

}  // namespace

void Timer::RunOne(const Timed& thing, Start start, std::vector<std::int64_t>& stamps) {
  watchdog_.SetActivity(thing.label);
  if (thing.before) thing.before();
  barrier_.Run();
  if (thing.blocking != nullptr) watchdog_.Arm(thing.blocking);
  if (start == Start::kTick) tick_->Wait();
  stamps.push_back(NowNs());
  for (Prepared* call : thing.calls) {
    call->Run();
    if (thing.times_calls) stamps.push_back(NowNs());
  }
  if (!thing.times_calls) stamps.push_back(NowNs());
  if (thing.blocking != nullptr) watchdog_.Disarm();
}

std::vector<Sample> Timer::Run(std::span<const Timed> things, std::span<const int> order,
                               Start start, std::vector<double>* wall_seconds) {
  std::size_t count = 1;
  for (const int index : order) count += StampCount(things[index]);
  std::vector<std::int64_t> mine;
  mine.reserve(count);
  wall_seconds->clear();
  for (const int index : order) {
    const std::int64_t begin = NowNs();
    RunOne(things[index], start, mine);
    wall_seconds->push_back(static_cast<double>(NowNs() - begin) / 1e9);
  }
  mine.push_back(stop_() ? 1 : 0);
  const auto all = session_.AllGather(std::as_bytes(std::span(mine)));
  if (session_.rank() != 0) return {};
  std::vector<std::vector<std::int64_t>> everything;
  for (const auto& bytes : all) {
    everything.emplace_back(count);
    std::memcpy(everything.back().data(), bytes.data(), bytes.size());
    interrupted_ = interrupted_ || everything.back().back() != 0;
  }
  std::vector<Sample> samples;
  samples.reserve(order.size());
  std::size_t at = 0;
  for (const int index : order) {
    std::vector<Stamps> by_rank;
    by_rank.reserve(everything.size());
    const std::size_t length = StampCount(things[index]);
    for (const auto& one : everything) by_rank.push_back(Stamps(one).subspan(at, length));
    samples.push_back(Combine(by_rank, things[index]));
    at += length;
  }
  return samples;
}

}  // namespace hockney
