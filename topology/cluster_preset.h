#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// What a kind of cluster is made of, for predictions without it. Every number is a vendor's, a
// standard's, or was measured between two points; none comes from a collective, so that predicted
// collectives can be compared with published ones. GB/s are 1e9 bytes/s in one direction.
struct ClusterPreset {
  struct Number {
    double value = 0;
    std::string source = {};
    std::string date = {};  // of the source: year, or year-month-day
  };

  struct Nvlink {
    Number links = {};  // of a GPU
    Number rate_GBps = {};
    std::optional<Number> measured_GBps = {};  // copy between two GPUs
    Number latency_us = {};
  };
  struct Nvls {            // reductions in the NVLink switch
    Number channels = {};  // within a node
    Number channels_over_nodes = {};
  };
  struct Nic {
    Number count = {};      // of a node
    Number rate_GBps = {};  // each
    Number latency_us = {};
  };
  // A level of switches above the nodes; within it every pair of nodes has the NICs' rate.
  struct Switch {
    std::string name = {};
    Number nodes = {};             // below one switch, or below one switch a rail
    Number oversubscription = {};  // of what leaves it; 1: none
  };

  std::string name = {};
  std::string description = {};
  std::string gpu = {};         // "" where ranks are processes of CPUs
  std::string generation = {};  // volta, ampere, hopper or blackwell; "" without GPU
  Number gpus_per_node = {};    // ranks of a node
  std::optional<Nvlink> nvlink = {};
  std::optional<Nvls> nvls = {};
  Nic nic = {};
  std::vector<Switch> switches = {};
  std::optional<Number> pcie_GBps = {};         // between a GPU and the host
  std::optional<Number> host_memory_GBps = {};  // of a node
  std::optional<Number> gpu_memory_GBps = {};
  std::optional<Number> gpu_memory_GB = {};
  std::map<std::string, Number> peak_TFLOPS = {};  // of a GPU by type, dense; key: DataType's name
};

// Reads the JSON of a preset (topology/clusters/ holds examples). Every number is an object
// {"value", "unit", "source", "date"}. Throws InputError naming `file` and the key: for other
// members, units or types, numbers that are not above 0, and missing sources.
ClusterPreset ParseClusterPreset(std::string_view text, std::string_view file);

// Returns the presets that are compiled in, by name.
std::vector<ClusterPreset> AllClusterPresets();

// Returns the preset of that name, or of the file of that path where the text holds a '/' or ends
// in ".json". Throws InputError listing the names.
ClusterPreset FindClusterPreset(const std::string& name_or_path);

}  // namespace hockney
