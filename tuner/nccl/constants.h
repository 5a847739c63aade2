#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace hockney::nccl {

// Numbers of NCCL 2.28.9 (src/graph/tuning.cc where no other file is named), which NCCL's own model
// of time is made of. None was fitted here. Empty is what NCCL has no number for, or none that we
// could check: nothing is put in its place.

enum class Algorithm : std::uint8_t {
  kTree,  // within a node a chain, over nodes a double binary tree
  kRing,
  kCollNetDirect,
  kCollNetChain,
  kNvls,      // reductions within the NVLink switch
  kNvlsTree,  // the same, with a tree over nodes
  kPat,
};
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
enum class Generation : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
// What carries a step.
enum class Hardware : std::uint8_t { kNvlink, kPci, kNet };

inline constexpr std::size_t kAlgorithms = 7;
inline constexpr std::size_t kProtocols = 3;
inline constexpr std::size_t kGenerations = 4;
inline constexpr std::size_t kScales = 3;  // 1 node, 2 nodes, more

using Number = std::optional<double>;
inline constexpr Number kNone = std::nullopt;
template <std::size_t n>
using Numbers = std::array<Number, n>;

// Microseconds, by algorithm and protocol (LL, LL128, Simple).
using Latencies = std::array<Numbers<kProtocols>, kAlgorithms>;

// Once a call.
inline constexpr Latencies kBaseLatencies = {{
    {6.8, 14.0, 8.4},  // tree
    {6.6, 14.0, 8.4},  // ring
    {0.0, 0.0, 0.0},   // collnet direct
    {0.0, 0.0, 0.0},   // collnet chain
    {0.0, 0.0, 0.0},   // nvls
    {0.0, 0.0, 0.0},   // nvls tree
    {8.0, 8.0, 8.0},   // pat
}};

// A step, by hardware.
inline constexpr std::array<Latencies, 3> kHardwareLatencies = {{
    // NVLink
    {{
        {0.6, 1.25, 4.0},      // tree
        {0.6, 1.9, 3.4},       // ring
        {kNone, kNone, 3.7},   // collnet direct
        {kNone, kNone, 2.8},   // collnet chain
        {kNone, kNone, 25.0},  // nvls
        {kNone, kNone, 25.0},  // nvls tree
        {kNone, kNone, 4.0},   // pat
    }},
    // PCIe
    {{
        {1.0, 1.9, 4.0},  // tree
        {1.0, 2.5, 5.7},  // ring
    }},
    // network
    {{
        {5.0, 8.5, 14.0},      // tree
        {2.7, 4.0, 14.0},      // ring
        {kNone, kNone, 31.0},  // collnet direct
        {kNone, kNone, 30.0},  // collnet chain
        {kNone, kNone, 18.0},  // nvls
        {kNone, kNone, 20.9},  // nvls tree
        {kNone, kNone, 14.0},  // pat
    }},
}};

// Caps in GB/s, by generation and scale. Those a channel are known for Hopper only.
using Caps = std::array<Numbers<kScales>, kGenerations>;
inline constexpr Caps kMostLl = {{
    {39.0, 39.0, 20.4},
    {87.7, 22.5, 19.0},
    {141.0, 45.0, 35.0},
    {282.0, 90.0, 70.0},
}};
inline constexpr Caps kMostRingLl128PerChannel = {{{}, {}, {36.7, 36.7, 36.7}, {}}};
inline constexpr Caps kMostTreeLl128PerChannel = {{{}, {}, {36.7, 36.7, 29.0}, {}}};
inline constexpr Caps kMostTreePerChannel = {{{}, {}, {38.7, 41.4, 36.0}, {}}};
inline constexpr Caps kMostNvlsTreePerChannel = {{{}, {}, {kNone, 57.7, 45.5}, {}}};

// Share of a link's rate that reductions in the switch reach.
inline constexpr Numbers<kGenerations> kNvlsEfficiency = {kNone, kNone, 0.85, 0.74};

// GB/s that NCCL counts on a single NVLink in one direction (src/graph/topo.h).
inline constexpr std::array<double, kGenerations> kNvlinkGBps = {20.0, 20.0, 20.6, 40.1};

// Shares of the simple protocol's rate.
inline constexpr double kRingLlShare = 0.5;
inline constexpr double kLl128Share = 0.92;
inline constexpr double kTreeShare = 0.92;
inline constexpr double kTreeLlShare = 1 / 3.8;
inline constexpr double kTreeLl128ShareOneNode = 7.0 / 9.0;
inline constexpr double kTreeLl128ShareNodes = 120.0 / 128.0;
inline constexpr double kTreePatternShare = 0.85;
inline constexpr double kPatShare = 0.75;

// A ring with the simple protocol over nodes waits longer, from so many bytes a channel and rank.
inline constexpr double kPlateau = 1.4;
inline constexpr double kPlateauBeforeAmpere = 1.9;
inline constexpr double kPlateauBytes = 64;

inline constexpr double kPatMicrosecondsPerRank = 2.8;
inline constexpr double kPatStepsAtOnce = 3.5;
inline constexpr int kTreeCorrections = 23;  // sizes of 64 B to 256 MiB, powers of two

// Bytes of payload that a slot of a connection carries, by protocol; it has 8
// (src/include/device.h).
inline constexpr std::array<double, kProtocols> kSlotBytes = {32.0 * 1024, 562.5 * 1024,
                                                              512.0 * 1024};
// NCCL_NVLS_CHUNKSIZE, of nvls and nvls_tree (src/transport/nvls.cc).
inline constexpr double kNvlsChunkBytes = 128.0 * 1024;
// The most of nvls_tree from 4 nodes on (src/enqueue.cc).
inline constexpr double kNvlsTreeChunkBytes = 64.0 * 1024;

// Calls of fewer bytes than `loops` times what is under way at once take shorter chunks; the rules
// are tried in their order (src/enqueue.cc).
struct ChunkRule {
  double loops = 0;
  double chunk_bytes = 0;
};
inline constexpr std::array<ChunkRule, 3> kNvlsChunks = {{{64, 65536}, {8, 32768}, {2, 16384}}};
inline constexpr std::array<ChunkRule, 4> kNvlsTreeChunks = {
    {{32, 262144}, {16, 131072}, {4, 65536}, {1, 32768}}};
// Of tree: `loops` for each level; chunks are halved down to `chunk_bytes`.
inline constexpr std::array<ChunkRule, 3> kTreeChunks = {{{8, 131072}, {4, 65536}, {1, 32768}}};

// Channels that the search found on 8 H100, and by how much NCCL multiplies them (src/graph).
inline constexpr int kGraphChannelsHopper = 12;
inline constexpr int kChannelsOfGraph = 2;
inline constexpr int kMostChannels = 64;

}  // namespace hockney::nccl
