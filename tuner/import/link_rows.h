#pragma once

#include <span>
#include <vector>

#include "tuner/records/link_row.h"
#include "tuner/records/sweep_row.h"

namespace hockney {

// The rows of a ping-pong test as links.csv has them, so that `hockney fit` tells alpha and beta:
// half a round trip is one message. The level is `node` where one host had all ranks, else
// `fabric`; a log does not say what lies nearer. None for other tests, and where the number of
// nodes is not known.
std::vector<LinkRow> LinkRowsOf(std::span<const SweepRow> rows);

}  // namespace hockney
