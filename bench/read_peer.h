#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "bench/peers.h"

namespace hockney {

// The run folders that scripts/peer_comparison makes, in the order of the report.
std::span<const std::string_view> PeerNames();

// Reads `<folder>/<name>`: sweep.csv and run.json, and what the script left there: problems.txt (a
// line a launch that failed) and ucx.txt (the transports that UCX chose). A folder without
// sweep.csv gives a Peer without rows. Throws InputError for a file that cannot be read.
Peer ReadPeer(const std::filesystem::path& folder, std::string_view name);

}  // namespace hockney
