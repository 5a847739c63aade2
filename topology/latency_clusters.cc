#include "topology/latency_clusters.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace hockney {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Logarithms of latencies between hosts, the same in both directions; NaN: not measured.
class Pairs {
 public:
  Pairs(std::size_t hosts, std::span<const double> latency_us)
      : hosts_(hosts), logs_(hosts * hosts, kUnknown) {
    for (std::size_t a = 0; a < hosts; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        Add(a, b, LogOf(latency_us[a * hosts + b]), LogOf(latency_us[b * hosts + a]));
      }
    }
  }

  std::size_t hosts() const { return hosts_; }
  double operator()(std::size_t a, std::size_t b) const { return logs_[a * hosts_ + b]; }

  // The logarithms of all measured pairs, ascending.
  std::vector<double> Sorted() const {
    std::vector<double> sorted;
    for (std::size_t a = 0; a < hosts_; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!std::isnan((*this)(a, b))) sorted.push_back((*this)(a, b));
      }
    }
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  // One standard deviation of a measured logarithm.
  double Noise() const {
    constexpr double kWhereUnknown = 0.1;
    constexpr std::size_t kFew = 8;
    constexpr double kUpperQuartile = 1.1503;  // of a normal |x|, in standard deviations
    if (differences_.empty()) return kWhereUnknown;
    std::vector<double> sorted = differences_;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.size() < kFew) return sorted.back() / std::numbers::sqrt2;
    return sorted[3 * sorted.size() / 4] / kUpperQuartile / std::numbers::sqrt2;
  }

 private:
  static double LogOf(double latency) {
    if (!std::isfinite(latency)) return kUnknown;
    if (latency <= 0) {
      throw std::invalid_argument(fmt::format("ClusterByLatency: a latency of {}", latency));
    }
    return std::log(latency);
  }

  void Add(std::size_t a, std::size_t b, double there, double back) {
    if (!std::isnan(there) && !std::isnan(back)) differences_.push_back(std::abs(there - back));
    logs_[a * hosts_ + b] = logs_[b * hosts_ + a] = std::fmin(there, back);  // NaN gives way
  }

  std::size_t hosts_;
  std::vector<double> logs_;
  std::vector<double> differences_ = {};  // between the directions of a pair
};

// One bit a host.
class Bits {
 public:
  explicit Bits(std::size_t bits) : words_((bits + 63) / 64) {}
  void Set(std::size_t bit) { words_[bit / 64] |= std::uint64_t{1} << bit % 64; }
  std::span<const std::uint64_t> words() const { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

// Which hosts are near to each one, below a cut, and of which it is known whether they are.
class Neighbours {
 public:
  Neighbours(const Pairs& pairs, double cut)
      : near_(pairs.hosts(), Bits(pairs.hosts())), known_(near_) {
    for (std::size_t a = 0; a < pairs.hosts(); ++a) {
      for (std::size_t b = 0; b < pairs.hosts(); ++b) {
        if (a != b && std::isnan(pairs(a, b))) continue;
        known_[a].Set(b);
        if (a == b || pairs(a, b) < cut) near_[a].Set(b);
      }
    }
  }

  // Whether at least half of the hosts that are near to one of the two are near to both.
  bool Agree(std::size_t a, std::size_t b) const {
    int both = 0;
    int either = 0;
    for (std::size_t i = 0; i < near_[a].words().size(); ++i) {
      const std::uint64_t near_a = near_[a].words()[i];
      const std::uint64_t near_b = near_[b].words()[i];
      const std::uint64_t known = known_[a].words()[i] & known_[b].words()[i];
      both += std::popcount(near_a & near_b);
      either += std::popcount((near_a | near_b) & known);
    }
    return 2 * both >= either;
  }

 private:
  std::vector<Bits> near_;
  std::vector<Bits> known_;
};

// group[h] = number of host h's group, in the order of first hosts. Hosts that are near and agree
// on who else is are in one: a pair that is near by accident joins no groups, as it would by
// itself.
std::vector<int> GroupsBelow(const Pairs& pairs, double cut) {
  const Neighbours neighbours(pairs, cut);
  std::vector<int> groups(pairs.hosts(), -1);
  int next = 0;
  for (std::size_t first = 0; first < pairs.hosts(); ++first) {
    if (groups[first] >= 0) continue;
    groups[first] = next;
    std::vector<std::size_t> open = {first};
    while (!open.empty()) {
      const std::size_t host = open.back();
      open.pop_back();
      for (std::size_t other = 0; other < pairs.hosts(); ++other) {
        const bool is_near = groups[other] < 0 && pairs(host, other) < cut;  // not for NaN
        if (!is_near || !neighbours.Agree(host, other)) continue;
        groups[other] = next;
        open.push_back(other);
      }
    }
    ++next;
  }
  return groups;
}

// Whether so few measured pairs lie on the wrong side of `cut` that the groups explain them.
bool Fits(const Pairs& pairs, std::span<const int> groups, double cut, double most_misfits) {
  double inside = 0;
  double between = 0;
  double wrong = 0;
  for (std::size_t a = 0; a < pairs.hosts(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (std::isnan(pairs(a, b))) continue;
      const bool same = groups[a] == groups[b];
      ++(same ? inside : between);
      if (same != (pairs(a, b) < cut)) ++wrong;
    }
  }
  return wrong <= most_misfits * std::min(inside, between);
}

// Whether there are two groups of two or more hosts, and three quarters of the hosts are in such.
bool HasRealGroups(std::span<const int> groups) {
  std::vector<std::size_t> sizes(groups.size());
  for (const int group : groups) ++sizes[group];
  std::size_t real = 0;
  std::size_t hosts = 0;
  for (const std::size_t size : sizes) {
    if (size < 2) continue;
    ++real;
    hosts += size;
  }
  return real >= 2 && 4 * hosts >= 3 * groups.size();
}

// Whether each group of `fine` lies in one of `coarse`, which are fewer.
bool IsCoarser(std::span<const int> coarse, std::span<const int> fine) {
  std::vector<int> coarse_of(fine.size(), -1);
  for (std::size_t host = 0; host < fine.size(); ++host) {
    int& known = coarse_of[fine[host]];
    if (known >= 0 && known != coarse[host]) return false;
    known = coarse[host];
  }
  return std::ranges::max(coarse) < std::ranges::max(fine);
}

// The groups below each step that counts, lowest first.
std::vector<std::vector<int>> FindSteps(const Pairs& pairs, const ClusterRule& rule) {
  const std::vector<double> sorted = pairs.Sorted();
  const double least = std::max(std::log(rule.least_ratio), rule.least_sigmas * pairs.Noise());
  std::vector<std::vector<int>> steps;
  for (std::size_t below = 1; below < sorted.size(); ++below) {
    // The medians alone would let every step through that lies between two real ones.
    constexpr double kPart = 0.5;
    const double step = sorted[below] - sorted[below - 1];
    const double apart = sorted[(below + sorted.size()) / 2] - sorted[below / 2];
    if (apart < least || step < kPart * least) continue;
    const double cut = (sorted[below] + sorted[below - 1]) / 2;
    std::vector<int> groups = GroupsBelow(pairs, cut);
    if (HasRealGroups(groups) && Fits(pairs, groups, cut, rule.most_misfits) &&
        (steps.empty() || IsCoarser(groups, steps.back()))) {
      steps.push_back(std::move(groups));
    }
  }
  return steps;
}

bool IsMeasured(const Pairs& pairs, std::size_t host) {
  for (std::size_t other = 0; other < pairs.hosts(); ++other) {
    if (!std::isnan(pairs(host, other))) return true;
  }
  return false;
}

}  // namespace

SwitchTree ClusterByLatency(std::span<const std::string> hosts, std::span<const double> latency_us,
                            const ClusterRule& rule) {
  if (latency_us.size() != hosts.size() * hosts.size()) {
    throw std::invalid_argument(
        fmt::format("ClusterByLatency: {} latencies of {} hosts", latency_us.size(), hosts.size()));
  }
  const Pairs pairs(hosts.size(), latency_us);
  const auto steps = FindSteps(pairs, rule);
  SwitchTree tree;
  if (steps.empty()) return tree;
  tree.source = "measured latencies";
  std::vector<int> rack_of_group(hosts.size(), -1);
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    if (!IsMeasured(pairs, host)) continue;
    int& rack = rack_of_group[steps[0][host]];
    if (rack < 0) {
      rack = static_cast<int>(tree.racks.size());
      tree.racks.push_back({.name = fmt::format("rack{}", rack)});
      if (steps.size() > 1) tree.racks.back().pod = fmt::format("pod{}", steps[1][host]);
    }
    tree.racks[rack].hosts.push_back(hosts[host]);
  }
  return tree;
}

std::vector<double> HostLatencies(std::span<const double> between_ranks_us,
                                  std::span<const int> node_of_rank) {
  const std::size_t ranks = node_of_rank.size();
  if (between_ranks_us.size() != ranks * ranks) {
    throw std::invalid_argument(
        fmt::format("HostLatencies: {} latencies of {} ranks", between_ranks_us.size(), ranks));
  }
  std::size_t nodes = 0;
  for (const int node : node_of_rank) nodes = std::max(nodes, static_cast<std::size_t>(node) + 1);
  std::vector<double> latencies(nodes * nodes, kUnknown);
  for (std::size_t a = 0; a < ranks; ++a) {
    for (std::size_t b = 0; b < ranks; ++b) {
      double& least = latencies[node_of_rank[a] * nodes + node_of_rank[b]];
      least = std::fmin(least, between_ranks_us[a * ranks + b]);
    }
  }
  return latencies;
}

}  // namespace hockney
