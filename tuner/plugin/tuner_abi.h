#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// What NCCL and a tuner plugin say to each other, in our own words: layouts and numbers only, so
// that neither NCCL nor CUDA is needed to build the plugin. Facts of NCCL 2.28.9,
// src/include/plugin/tuner; versions 4 and 5 of the interface.
namespace hockney::tuner_abi {

// Results. NCCL fails the collective for anything else than success.
inline constexpr int kSuccess = 0;

// Levels and subsystems of the logger.
inline constexpr int kWarn = 2;
inline constexpr int kInfo = 3;
inline constexpr unsigned long kSubsystemInit = 0x1;
inline constexpr unsigned long kSubsystemTuning = 0x40;

// Names in the order of their numbers, spelled as in the CSV of NCCL's example tuner. A tuner is
// asked for these five functions only.
inline constexpr std::array<std::string_view, 5> kFunctions = {"broadcast", "reduce", "allgather",
                                                               "reducescatter", "allreduce"};
inline constexpr std::array<std::string_view, 7> kAlgorithms = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
inline constexpr std::array<std::string_view, 3> kProtocols = {"ll", "ll128", "simple"};

// Most channels a communicator can have.
inline constexpr int kMostChannels = 64;

extern "C" {

using Logger = void (*)(int level, unsigned long subsystems, const char* file, int line,
                        const char* format, ...);

// The table of costs is passed as float** and is a flat float[algorithms][protocols]: microseconds,
// negative where NCCL cannot do it. `channels` comes as 0, which keeps NCCL's own number.
using GetCollInfo = int (*)(void* context, int function, std::size_t bytes, int pipe_ops,
                            float** costs, int algorithms, int protocols, int registered,
                            int* channels);

// The object `ncclTunerPlugin_v5`. `domains` and `constants` are structures that hockney leaves
// alone: writing constants would change NCCL's model.
struct PluginV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
              Logger logger, void* domains, void* constants);
  GetCollInfo get_coll_info;
  int (*finalize)(void* context);
};

// The object `ncclTunerPlugin_v4`.
struct PluginV4 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  GetCollInfo get_coll_info;
  int (*destroy)(void* context);
};

}  // extern "C"

}  // namespace hockney::tuner_abi
