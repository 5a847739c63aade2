#pragma once

#include <string>
#include <vector>

#include "bench/device/device_options.h"
#include "bench/launch.h"
#include "topology/collect_topology.h"

namespace CLI {
class App;
}

namespace hockney {

// The options of `hockney sweep` as they are typed; its command turns them into SweepOptions.
struct SweepTexts {
  std::vector<std::string> collectives;
  std::string begin = "8";
  std::string end = "64M";
  std::string factor;
  std::string increment;
  std::string count;
  std::string types = "float32";
  std::string ops = "sum";
  std::string root = "0";
  std::string split;
  std::string place;  // empty: as the format needs
  std::string format = "text";
  std::string algorithms = "all";
  std::string tuned;
  std::string implementations = "auto";
  std::string mpi_algorithms = "default";
  std::string protocols = "auto";
  std::string stores = "auto";
  std::string lanes;
  std::string slices = "2";
  std::string mode = "isolated";
  std::string buffers = "refreshed";
  std::string clock = "auto";
  std::string row_budget = "500ms";
  std::string iterations;
  std::string warmups;
  std::string checks = "1";
  std::string seed = "1";
  std::string llc;
  std::string out;
  bool append = false;
  bool dry_run = false;
  std::string launches;
  std::string launcher;
  std::string progress = "auto";
  DeviceTexts device;
  TopologySources topology;
  RankOptions ranks;
};

// Adds the options to `command`; `texts` outlives the parse.
void AddSweepTexts(CLI::App& command, SweepTexts* texts);

}  // namespace hockney
