#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hockney {

// Which hosts share a rack and which racks a pod, as somebody says: a file, Slurm, or measured
// latencies. Without racks it says nothing.
struct SwitchTree {
  struct Rack {
    std::string name = {};
    std::vector<std::string> hosts = {};
    std::string pod = {};  // empty: in none
  };
  std::vector<Rack> racks = {};
  std::string source = {};  // who says so, for people
};

// Returns for each host the index in `tree.racks` of the rack that holds it, empty if none does. A
// host is found by its whole name, else by the part before the first dot where one side has no
// domain: files and gethostname differ in whether they add it.
std::vector<std::optional<std::size_t>> FindRacks(const SwitchTree& tree,
                                                  std::span<const std::string> hosts);

}  // namespace hockney
