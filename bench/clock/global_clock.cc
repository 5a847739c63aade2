#include "bench/clock/global_clock.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <type_traits>
#include <utility>

#include "bench/clock/clock_tree.h"
#include "bench/clock/ping_pong.h"

namespace hockney {
namespace {

static_assert(std::is_trivially_copyable_v<ClockFit>);

// Comparing all clocks takes `rounds` times the length of a round: long enough that drift shows,
// about a second together.
constexpr double kTogetherNs = 0.8e9;
constexpr double kLeastRoundNs = 0.1e9;
constexpr double kMostRoundNs = 0.25e9;
constexpr double kMostShareOfTimeout = 0.25;
constexpr int kFitPoints = 20;
constexpr int kCheckPoints = 4;
constexpr std::int64_t kMostAgeNs = 2'000'000'000;

std::int64_t IntervalNs(int rounds, double timeout_seconds) {
  const double round_ns = std::min(std::clamp(kTogetherNs / rounds, kLeastRoundNs, kMostRoundNs),
                                   kMostShareOfTimeout * timeout_seconds * 1e9 / rounds);
  return static_cast<std::int64_t>(round_ns / (kFitPoints + kCheckPoints));
}

}  // namespace

ClockGroups GroupByClock(Session& session, const std::string& name) {
  ClockGroups groups;
  std::map<std::string, int> numbers;
  for (const auto& theirs : session.AllGather(std::as_bytes(std::span(name)))) {
    const std::string clock(reinterpret_cast<const char*>(theirs.data()), theirs.size());
    const auto [place, is_new] = numbers.try_emplace(clock, static_cast<int>(groups.firsts.size()));
    if (is_new) groups.firsts.push_back(static_cast<int>(groups.of_rank.size()));
    groups.of_rank.push_back(place->second);
  }
  return groups;
}

GlobalClock::GlobalClock(Session& session, ClockGroups groups, Access access)
    : session_(session),
      groups_(std::move(groups)),
      access_(access),
      fits_(groups_.firsts.size()),
      to_global_(groups_.firsts.size()) {
  if (nodes() == 1) return;
  const int rounds = ClockRoundCount(nodes());
  Compare(kFitPoints, kCheckPoints, IntervalNs(rounds, session.timeout_seconds()));
  first_ns_ = newest_ns_;
}

void GlobalClock::Compare(int points, int checks, std::int64_t interval_ns) {
  const int node = groups_.of_rank[session_.rank()];
  const bool is_first = groups_.firsts[node] == session_.rank();
  for (const ClockRound& round : ClockRounds(node, nodes())) {
    if (!is_first) break;
    const int peer = groups_.firsts[round.peer];
    if (!round.learns) {
      AnswerClock(*access_.clock, *access_.link, peer);
      continue;
    }
    ClockTalk talk(*access_.clock, *access_.link, peer);
    if (points > 0) fit_.Add(talk.Compare(points, interval_ns));
    access_.clock->WaitUntil(fit_.fit().newest_ns + interval_ns);
    const std::vector<ClockPoint> checked = talk.Compare(checks, interval_ns);
    talk.End();
    fit_.Check(checked);
    fit_.Add(checked);
  }
  Share();
}

// Everybody gets all fits.
void GlobalClock::Share() {
  const auto all = session_.AllGather(std::as_bytes(std::span(&fit_.fit(), 1)));
  for (int node = 1; node < nodes(); ++node) {
    std::memcpy(&fits_[node], all[groups_.firsts[node]].data(), sizeof(ClockFit));
    // Parents have smaller numbers.
    to_global_[node] = fits_[node].map.Then(to_global_[ClockParent(node, nodes())]);
  }
  newest_ns_ = access_.clock->NowNs();
}

void GlobalClock::Refresh() {
  if (nodes() == 1) return;
  std::byte is_due{0};
  const std::int64_t age = access_.clock->NowNs() - newest_ns_;
  const std::int64_t reach = std::max(newest_ns_ - first_ns_, kMostAgeNs / 8);
  if (session_.rank() == 0 && age > std::min(reach, kMostAgeNs)) is_due = std::byte{1};
  session_.Broadcast({&is_due, 1}, 0);
  if (is_due != std::byte{0}) Compare(0, 1, 0);
}

std::int64_t GlobalClock::ToGlobal(int rank, std::int64_t local_ns) const {
  return to_global_[groups_.of_rank[rank]].Apply(local_ns);
}

std::int64_t GlobalClock::ToLocal(std::int64_t global_ns) const {
  return to_global_[groups_.of_rank[session_.rank()]].Invert(global_ns);
}

double GlobalClock::NodeErrorNs(int node, std::int64_t global_ns) const {
  double error = 0;
  for (; node != 0; node = ClockParent(node, nodes())) {
    error += fits_[node].ErrorNs(to_global_[node].Invert(global_ns));
  }
  return error;
}

double GlobalClock::ErrorUs(int rank, std::int64_t global_ns) const {
  return NodeErrorNs(groups_.of_rank[rank], global_ns) / 1e3;
}

double GlobalClock::WidestErrorUs(std::int64_t global_ns) const {
  double largest = 0;
  double second = 0;
  for (int node = 0; node < nodes(); ++node) {
    const double error = NodeErrorNs(node, global_ns);
    second = std::max(second, std::min(largest, error));
    largest = std::max(largest, error);
  }
  return (largest + second) / 1e3;
}

}  // namespace hockney
