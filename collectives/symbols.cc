#include "collectives/symbols.h"

#include <algorithm>
#include <bit>

namespace hockney {

RankSets::RankSets(int ranks) {
  const std::size_t words = (static_cast<std::size_t>(ranks) + 63) / 64;
  std::vector<std::uint64_t> all(words, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::uint64_t> one(words, 0);
    one[rank / 64] |= std::uint64_t{1} << (rank % 64);
    all[rank / 64] |= one[rank / 64];
    Intern(std::move(one));
  }
  all_ = Intern(std::move(all));
}

int RankSets::Intern(std::vector<std::uint64_t> bits) {
  const auto [place, is_new] = names_.try_emplace(bits, static_cast<int>(sets_.size()));
  if (is_new) {
    int size = 0;
    for (const std::uint64_t word : bits) size += std::popcount(word);
    sizes_.push_back(size);
    sets_.push_back(std::move(bits));
  }
  return place->second;
}

int RankSets::Join(int a, int b) {
  const std::pair<int, int> key = std::minmax(a, b);
  const auto known = joins_.find(key);
  if (known != joins_.end()) return known->second;
  std::vector<std::uint64_t> bits = sets_[a];
  bool overlap = false;
  for (std::size_t w = 0; w < bits.size(); ++w) {
    overlap = overlap || (bits[w] & sets_[b][w]) != 0;
    bits[w] |= sets_[b][w];
  }
  const int joined = overlap ? kOverlap : Intern(std::move(bits));
  joins_.emplace(key, joined);
  return joined;
}

Clocks::Clocks(int threads)
    : clocks_(threads, std::vector<std::uint32_t>(threads, 0)), latest_(threads) {
  // Time 0 of another thread is known to everyone; a thread's own work starts at 1.
  for (int thread = 0; thread < threads; ++thread) clocks_[thread][thread] = 1;
}

Released Clocks::Release(int thread) {
  if (latest_[thread] == nullptr) {
    latest_[thread] = std::make_shared<const Snapshot>(Snapshot{thread, clocks_[thread]});
    ++clocks_[thread][thread];
  }
  return latest_[thread];
}

void Clocks::Acquire(int thread, const Released& released) {
  std::vector<std::uint32_t>& mine = clocks_[thread];
  // Who knows a thread's time knows all that it knew then.
  if (mine[released->thread] >= released->times[released->thread]) return;
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], released->times[i]);
  latest_[thread].reset();
}

int Cell::Read(Clocks& clocks, int thread) {
  const bool ordered =
      write.thread < 0 || write.thread == thread || clocks.Knows(thread, write.thread, write.time);
  const int racer = ordered ? -1 : write.thread;
  const auto mine = std::find_if(reads.begin(), reads.end(),
                                 [&](const Access& access) { return access.thread == thread; });
  if (mine != reads.end()) {
    mine->time = clocks.Touch(thread);
  } else {
    reads.push_back({thread, clocks.Touch(thread)});
  }
  return racer;
}

int Cell::Write(Clocks& clocks, int thread) {
  int racer = -1;
  const auto check = [&](const Access& access) {
    if (access.thread >= 0 && access.thread != thread &&
        !clocks.Knows(thread, access.thread, access.time)) {
      racer = access.thread;
    }
  };
  check(write);
  for (const Access& access : reads) check(access);
  reads.clear();
  write = {thread, clocks.Touch(thread)};
  return racer;
}

}  // namespace hockney
