#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

namespace hockney {
namespace {

std::int64_t NowNs() {
  // CLOCK_MONOTONIC: all processes of a host read the same one.
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Span {
  std::int64_t entry_ns = 0;
  std::int64_t exit_ns = 0;
};

Sample Combine(const std::vector<std::vector<Span>>& by_rank, std::size_t place,
               std::size_t calls) {
  std::int64_t first_entry = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_entry = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_exit = last_entry;
  std::int64_t longest = -1;
  Sample sample;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const Span& span = by_rank[rank][place];
    first_entry = std::min(first_entry, span.entry_ns);
    last_entry = std::max(last_entry, span.entry_ns);
    last_exit = std::max(last_exit, span.exit_ns);
    if (span.exit_ns - span.entry_ns > longest) {
      longest = span.exit_ns - span.entry_ns;
      sample.slowest_rank = static_cast<int>(rank);
    }
  }
  sample.time_us = static_cast<double>(last_exit - first_entry) / 1e3 / static_cast<double>(calls);
  sample.entry_skew_ns = static_cast<double>(last_entry - first_entry);
  return sample;
}

}  // namespace

std::vector<Sample> Timer::Run(std::span<const Timed> things, std::span<const int> order,
                               std::vector<double>* wall_seconds) {
  std::vector<Span> mine;
  mine.reserve(order.size() + 1);
  if (wall_seconds != nullptr) wall_seconds->clear();
  for (const int index : order) {
    const Timed& thing = things[index];
    const std::int64_t start = NowNs();
    if (thing.before) thing.before();
    barrier_.Run();
    if (thing.name != nullptr) guard_(thing.name);
    Span span;
    span.entry_ns = NowNs();
    for (Prepared* call : thing.calls) call->Run();
    span.exit_ns = NowNs();
    if (thing.name != nullptr) guard_(nullptr);
    mine.push_back(span);
    if (wall_seconds != nullptr) {
      wall_seconds->push_back(static_cast<double>(NowNs() - start) / 1e9);
    }
  }
  // The last span says whether the rank was told to stop.
  mine.push_back({stop_() ? 1 : 0, 0});
  const auto all = session_.AllGather(std::as_bytes(std::span(mine)));
  if (session_.rank() != 0) return {};
  std::vector<std::vector<Span>> by_rank;
  for (const auto& bytes : all) {
    by_rank.emplace_back(bytes.size() / sizeof(Span));
    std::memcpy(by_rank.back().data(), bytes.data(), bytes.size());
    interrupted_ = interrupted_ || by_rank.back().back().entry_ns != 0;
  }
  std::vector<Sample> samples;
  samples.reserve(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    samples.push_back(Combine(by_rank, place, things[order[place]].calls.size()));
  }
  return samples;
}

}  // namespace hockney
