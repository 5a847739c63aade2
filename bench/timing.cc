#include "bench/timing.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace hockney {
namespace {

// The clock readings of one rank at one place: entry, exit, or entry and the end of every call.
using Readings = std::span<const std::int64_t>;

constexpr int kMostPasses = 4;  // over places that ranks come late to

std::size_t ReadingCount(const Timed& thing) {
  return thing.times_calls ? 1 + thing.calls.size() : 2;
}

double Microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

std::vector<double> LongestCalls(std::span<const Readings> by_rank, std::size_t calls) {
  std::vector<double> longest_us;
  for (std::size_t call = 0; call < calls; ++call) {
    std::int64_t most = 0;
    for (const Readings& of : by_rank) most = std::max(most, of[call + 1] - of[call]);
    longest_us.push_back(Microseconds(most));
  }
  return longest_us;
}

}  // namespace

Timer::Timer(Session& session, const TimerParts& parts, std::function<bool()> stop)
    : session_(session), parts_(parts), stop_(std::move(stop)) {
  if (parts.global != nullptr) round_start_.emplace(session, *parts.global);
  if (!parts_.members.empty()) return;
  parts_.members.resize(session.ranks());
  std::iota(parts_.members.begin(), parts_.members.end(), 0);
}

std::int64_t Timer::Now() const {
  return parts_.global == nullptr ? NowNs() : parts_.global->LocalNowNs();
}

// Returns whether it came late.
bool Timer::RunOne(const Timed& thing, Start start, Stamps& stamps) {
  parts_.watchdog->SetActivity(thing.label);
  if (thing.before) thing.before();
  if (thing.own_clock) {
    stamps.push_back(0);
    stamps.push_back(thing.own_clock());
    return false;
  }
  parts_.barrier->Run();
  bool in_time = true;
  if (start == Start::kRoundTime) in_time = round_start_->Wait();
  if (thing.blocking != nullptr) parts_.watchdog->Arm(thing.blocking);
  if (start == Start::kTick) parts_.tick->Wait();
  stamps.push_back(Now());
  for (Prepared* call : thing.calls) {
    call->Run();
    if (thing.times_calls) stamps.push_back(Now());
  }
  if (!thing.times_calls) stamps.push_back(Now());
  if (thing.blocking != nullptr) parts_.watchdog->Disarm();
  return !in_time;
}

// Returns every rank's stamps, in rank order.
std::vector<Timer::Stamps> Timer::GatherStamps(Stamps& mine) {
  mine.push_back(stop_() ? 1 : 0);
  std::vector<Stamps> all;
  for (const auto& bytes : session_.AllGather(std::as_bytes(std::span(mine)))) {
    all.emplace_back(bytes.size() / sizeof(Stamps::value_type));
    std::memcpy(all.back().data(), bytes.data(), bytes.size());
    interrupted_ = interrupted_ || all.back().back() != 0;
  }
  return all;
}

void Timer::SetCommonTimes(std::span<const Readings> by_rank, Sample& sample) const {
  const auto common = [&](std::size_t member, std::int64_t local_ns) {
    if (parts_.global == nullptr) return local_ns;
    return parts_.global->ToGlobal(parts_.members[member], local_ns);
  };
  std::int64_t first_entry = common(0, by_rank[0].front());
  std::int64_t last_entry = first_entry;
  std::int64_t last_exit = common(0, by_rank[0].back());
  for (std::size_t member = 1; member < by_rank.size(); ++member) {
    const std::int64_t entry = common(member, by_rank[member].front());
    first_entry = std::min(first_entry, entry);
    last_entry = std::max(last_entry, entry);
    last_exit = std::max(last_exit, common(member, by_rank[member].back()));
  }
  sample.time_us = Microseconds(last_exit - first_entry);
  sample.entry_skew_ns = static_cast<double>(last_entry - first_entry);
  if (parts_.global != nullptr) sample.clock_error_us = parts_.global->WidestErrorUs(last_exit);
}

Sample Timer::Combine(std::span<const Readings> by_rank, const Timed& thing) const {
  const auto calls = static_cast<double>(thing.calls.size());
  Sample sample;
  for (const Readings& of : by_rank) {
    sample.rank_us.push_back(Microseconds(of.back() - of.front()) / calls);
  }
  const auto longest = std::max_element(sample.rank_us.begin(), sample.rank_us.end());
  sample.slowest_rank = parts_.members[longest - sample.rank_us.begin()];
  sample.local_us = *longest;
  sample.time_us = sample.local_us;
  if (parts_.clock != ClockKind::kLocal) {
    SetCommonTimes(by_rank, sample);
    sample.time_us /= calls;
    sample.clock_error_us /= calls;
  }
  if (thing.times_calls) sample.call_us = LongestCalls(by_rank, thing.calls.size());
  return sample;
}

// Runs these places and returns those that some rank came late to. Samples come on the first rank
// only.
std::vector<std::size_t> Timer::RunPlaces(const Batch& batch, std::span<const std::size_t> places,
                                          Start start) {
  Stamps mine(places.size());
  std::size_t count = places.size() + 1;
  for (const std::size_t place : places) count += ReadingCount(batch.At(place));
  mine.reserve(count);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t begin = Now();
    mine[i] = RunOne(batch.At(places[i]), start, mine) ? 1 : 0;
    (*batch.wall_seconds)[places[i]] += static_cast<double>(Now() - begin) / 1e9;
  }
  const std::vector<Stamps> all = GatherStamps(mine);
  std::vector<std::size_t> late;
  std::size_t at = places.size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t length = ReadingCount(batch.At(places[i]));
    if (std::any_of(all.begin(), all.end(), [i](const Stamps& theirs) { return theirs[i] != 0; })) {
      late.push_back(places[i]);
    } else if (session_.rank() == parts_.members[0]) {
      std::vector<Readings> by_rank;
      by_rank.reserve(parts_.members.size());
      for (const int rank : parts_.members) {
        by_rank.push_back(Readings(all[rank]).subspan(at, length));
      }
      (*batch.samples)[places[i]] = Combine(by_rank, batch.At(places[i]));
    }
    at += length;
  }
  if (start == Start::kRoundTime) round_start_->Adapt(late.size(), places.size());
  return late;
}

std::vector<Sample> Timer::Run(std::span<const Timed> things, std::span<const int> order,
                               Start start, std::vector<double>* wall_seconds) {
  if (parts_.global != nullptr) {
    parts_.watchdog->SetActivity("the comparison of clocks");
    parts_.global->Refresh();
  }
  std::vector<Sample> samples(order.size());
  wall_seconds->assign(order.size(), 0);
  const Batch batch{things, order, &samples, wall_seconds};
  std::vector<std::size_t> places(order.size());
  std::iota(places.begin(), places.end(), 0);
  for (int pass = 1; !places.empty(); ++pass) {
    places = RunPlaces(batch, places, pass < kMostPasses ? start : Start::kBarrier);
  }
  if (session_.rank() != parts_.members[0]) return {};
  return samples;
}

}  // namespace hockney
