#pragma once

#include <string>

#include "bench/links/link_survey.h"

namespace hockney {

// The racks and pods that the latencies of a matrix show between hosts (ClusterByLatency); none
// for fewer than four hosts, which show nothing for certain.
SwitchTree RacksByLatency(const PairMatrix& matrix, const Topology& topology);

// What people should know of racks that were found: which they are, and whether they are those that
// the topology was told. Empty if none were found.
std::string MeasuredRacksText(const SwitchTree& measured, const Topology& topology);

}  // namespace hockney
