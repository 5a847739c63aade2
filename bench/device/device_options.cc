#include "bench/device/device_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "bench/options.h"

namespace hockney {
namespace {

constexpr int kMostChannels = 64;        // of NCCL
constexpr int kMostGraphCalls = 10'000;  // in one graph

constexpr const char* kNeedsDevices = "--memory cuda beside it";

// Throws UsageError if the option was given.
void Refuse(const CLI::App& command, const char* option, const std::string& expected) {
  const CLI::Option& given = *command.get_option(option);
  if (given.count() > 0) FailOption(OptionName(given), given.results()[0], expected);
}

std::vector<std::string> ReadNames(const char* option, const std::string& text,
                                   std::span<const std::string_view> names) {
  return text.empty() ? std::vector<std::string>() : ParseNames(option, text, names);
}

}  // namespace

void AddMemoryTexts(CLI::App& command, MemoryTexts* texts) {
  command
      .add_option(
          "--memory", texts->memory,
          "Where the buffers lie: host, or cuda: memory of GPUs, moved by blocks of threads "
          "there. Never run on a GPU")
      ->capture_default_str();
  command
      .add_option("--peer-memory", texts->peer_memory,
                  "How processes open each other's GPU memory: ipc, or fd (file descriptors of "
                  "CUDA's virtual memory)")
      ->capture_default_str();
}

void ReadMemoryTexts(const CLI::App& command, const MemoryTexts& texts, SweepOptions& options) {
  constexpr std::string_view kMemories[] = {"host", "cuda"};
  constexpr std::string_view kKinds[] = {"ipc", "fd"};
  options.memory = static_cast<MemoryKind>(ParseChoice("--memory", texts.memory, kMemories));
  if (options.memory == MemoryKind::kHost) Refuse(command, "--peer-memory", kNeedsDevices);
  options.peer_memory = ParseChoice("--peer-memory", texts.peer_memory, kKinds) == 0
                            ? PeerMemoryKind::kCudaIpc
                            : PeerMemoryKind::kFileDescriptor;
}

void AddDeviceTexts(CLI::App& command, DeviceTexts* texts) {
  AddMemoryTexts(command, &texts->memory);
  command
      .add_option("--nccl-lib", texts->nccl_libraries,
                  "A libnccl to measure; more than once to compare several in one run. Default: "
                  "libnccl.so.2")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command.add_option(
      "--nccl-algorithm", texts->nccl_algorithms,
      "What NCCL is told to take, each in turn: ring, tree, collnetdirect, "
      "collnetchain, nvls, nvlstree, pat, or all. Between processes. Default: its own choice");
  command.add_option("--nccl-protocol", texts->nccl_protocols,
                     "The same: ll, ll128, simple, or all. Default: its own choice");
  command.add_option("--nccl-channels", texts->nccl_channels,
                     "The same: numbers of channels. Default: its own choice");
  command.add_option("-G,--graph", texts->graph,
                     "Time also N calls captured in one graph; 0: none. Default: 10 where a call "
                     "takes below 20 us, none with --split");
  command.add_option("--require", texts->required,
                     "gdr: end with the reason where network cards cannot reach the GPUs' memory, "
                     "instead of sending through memory of the host");
}

void ReadDeviceTexts(const CLI::App& command, const DeviceTexts& texts, SweepOptions& options) {
  ReadMemoryTexts(command, texts.memory, options);
  if (options.memory == MemoryKind::kHost) {
    for (const char* option : {"--nccl-lib", "--nccl-algorithm", "--nccl-protocol",
                               "--nccl-channels", "--graph", "--require"}) {
      Refuse(command, option, kNeedsDevices);
    }
    return;
  }
  Refuse(command, "--store", "no --store with --memory cuda: there is one way to write");
  if (options.clock != ClockKind::kAuto && options.clock != ClockKind::kLocal) {
    Refuse(command, "--clock", "auto or local with --memory cuda: each GPU has a clock of its own");
  }
  if (!texts.nccl_libraries.empty()) options.nccl_libraries = texts.nccl_libraries;
  constexpr std::string_view kAlgorithms[] = {
      "ring", "tree", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"};
  constexpr std::string_view kProtocols[] = {"ll", "ll128", "simple"};
  options.nccl_algorithms = ReadNames("--nccl-algorithm", texts.nccl_algorithms, kAlgorithms);
  options.nccl_protocols = ReadNames("--nccl-protocol", texts.nccl_protocols, kProtocols);
  if (!texts.nccl_channels.empty()) {
    options.nccl_channels = ParseInts("--nccl-channels", texts.nccl_channels, kMostChannels);
  }
  constexpr std::string_view kRequired[] = {"gdr"};
  if (!texts.required.empty()) {
    options.requires_gdr = ParseChoice("--require", texts.required, kRequired) == 0;
  }
  if (texts.graph.empty()) return;
  const std::uint64_t calls = ParseCount("--graph (-G)", texts.graph);
  if (calls > kMostGraphCalls) FailOption("--graph (-G)", texts.graph, "at most 10000");
  options.graph_calls = static_cast<int>(calls);
}

}  // namespace hockney
