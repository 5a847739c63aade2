#pragma once

#include <span>
#include <string>
#include <vector>

#include "topology/switch_tree.h"

namespace hockney {

// What latencies must show before they are taken for racks.
struct ClusterRule {
  double least_ratio = 1.2;   // of the far latencies over the near ones
  double least_sigmas = 4;    // of that ratio's logarithm over the noise
  double most_misfits = 0.1;  // share of host pairs on the wrong side
};

// Returns racks, and pods where there is one more step, that measured latencies between hosts show;
// no racks where they show none. latency_us[a * hosts + b] is the time from a to b (any unit), NaN
// where it was not measured; the diagonal is not looked at. Pairs that were not measured say
// nothing, and a host without any measured pair is in no rack.
//
// The rule. Of the two directions of a pair the smaller one counts, since disturbances only add.
// All pairs' latencies are sorted. A step between two neighbours is significant if the medians of
// all below it and of all above it are at least `least_ratio` apart and at least `least_sigmas` of
// the noise, and if the step itself is half of that. Noise is how much the two directions of a pair
// differ: the normalised upper quartile, the most where fewer than 8 pairs have both directions,
// and 10 % where none has. Two hosts nearer than the step that share at least half of their near
// hosts are in one group. A significant step counts if the pairs on its wrong side are at most
// `most_misfits` of those inside groups, and of those between them; and if two groups have two or
// more hosts, and three quarters of the hosts are in such: one host apart from all others may as
// well be a slow one, which `hockney links` names. The groups below the lowest step that counts are
// racks, those below the next one, which only joins racks, are pods.
//
// Takes memory by the square of the hosts and time by its cube, over 64. Throws
// std::invalid_argument if sizes do not fit and for a latency that is not positive.
SwitchTree ClusterByLatency(std::span<const std::string> hosts, std::span<const double> latency_us,
                            const ClusterRule& rule = {});

// Returns the latencies between hosts from those between ranks: the least of each pair of hosts,
// NaN where none was measured. node_of_rank[r] counts from 0.
std::vector<double> HostLatencies(std::span<const double> between_ranks_us,
                                  std::span<const int> node_of_rank);

}  // namespace hockney
