#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "collectives/types.h"
#include "topology/session.h"

namespace hockney {

// What is known of shaped links between hosts. Rates are of payload, per direction.
struct Shaping {
  double goodput_Bps = 0;         // of a host's link; 0: not limited
  std::uint64_t burst_bytes = 0;  // that a link lets through at once after a pause
};

// Reads the JSON file that rank 0's variable HOCKNEY_SHAPING_FILE names (scripts/virtual_cluster
// writes it) into `json`, null without one; every rank gets the same. Throws Agreed<UsageError>
// naming the file if it cannot be read. Collective.
std::optional<Shaping> ReadShaping(Session& session, nlohmann::ordered_json* json);

// Whether what passes through a link in one sample (bytes) is so little that the burst decides the
// time: less than 64 bursts of one call by itself, less than 16 of calls in a row.
bool IsBurstLimited(const Shaping& shaping, std::uint64_t bytes, bool streamed);

// The bus bandwidth in GB/s that no algorithm can exceed where every host's link moves
// `goodput_Bps` a direction and `hosts` hosts hold `ranks` ranks in equal parts: each host must
// send or receive what the others need of it.
std::optional<double> NetworkBoundBusbw(Collective collective, int ranks, int hosts,
                                        double goodput_Bps);

}  // namespace hockney
