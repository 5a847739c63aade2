#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collectives/executors/cuda/device.h"

// What gpu_check runs, each section in a process of its own: CUDA must not have begun before a
// process forks, and a section that crashes ends alone.
namespace hockney::testing {

struct SectionOptions {
  // Opens the device, in the process and thread that use it. Throws EnvironmentError.
  std::function<std::shared_ptr<Device>()> open;
  PeerMemoryKind kind = PeerMemoryKind::kCudaIpc;  // of the sections "processes"
  int threads = 256;                               // of a block
  int most_ranks = 8;
  double timeout_seconds = 20;  // for any wait
  std::string nccl = "libnccl.so.2";
  // Starts this program again for section NAME under a tool; its exit code is the tool's.
  std::string program;
  // For "speed".
  std::size_t most_bytes = std::size_t{64} << 20;
};

struct SectionResult {
  enum class Status { kPassed, kFailed, kSkipped } status = Status::kPassed;
  int checks = 0;    // calls whose whole result was compared
  std::string text;  // why it was skipped, what is wrong, or what was measured
};

struct Section {
  const char* name;
  const char* what;  // in a few words
  SectionResult (*run)(const SectionOptions&);
};

// All of them in the order in which they run.
std::span<const Section> AllSections();

// Runs one in this process. Exceptions become results: EnvironmentError a skip, anything else a
// failure.
SectionResult RunSectionHere(const Section& section, const SectionOptions& options);
// The same in a process of its own, killed after `seconds`.
SectionResult RunSection(const Section& section, const SectionOptions& options, int seconds);

}  // namespace hockney::testing
