#pragma once

#include <string>
#include <vector>

#include "bench/sweep_options.h"

namespace CLI {
class App;
}

namespace hockney {

// The options that say where buffers lie, as they are typed.
struct MemoryTexts {
  std::string memory = "host";
  std::string peer_memory = "ipc";
};

// With those that say what of GPUs a sweep measures.
struct DeviceTexts {
  MemoryTexts memory;
  std::vector<std::string> nccl_libraries;
  std::string nccl_algorithms;
  std::string nccl_protocols;
  std::string nccl_channels;
  std::string graph;
  std::string required;
};

// Add the options to `command`; `texts` outlives the parse.
void AddMemoryTexts(CLI::App& command, MemoryTexts* texts);
void AddDeviceTexts(CLI::App& command, DeviceTexts* texts);

// Read them. Throw UsageError for values that mean nothing, and for options that do nothing with
// the memory asked for.
void ReadMemoryTexts(const CLI::App& command, const MemoryTexts& texts, SweepOptions& options);
void ReadDeviceTexts(const CLI::App& command, const DeviceTexts& texts, SweepOptions& options);

}  // namespace hockney
