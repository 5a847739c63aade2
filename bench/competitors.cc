#include "bench/competitors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "bench/cell.h"
#include "bench/device/device_competitors.h"
#include "bench/mpi_rows.h"
#include "bench/tuned_choices.h"
#include "collectives/levels.h"
#include "collectives/partners.h"
#include "topology/check.h"
#include "topology/gather_json.h"
#include "tuner/bandwidth.h"
#include "tuner/select/legal.h"

namespace hockney {
namespace {

// Sizes up to which packets are tried by default: they save a hop where latency is all, and cost a
// pass a word. (results/README.md).
constexpr std::uint64_t kMostLlBytes = 1024;
// Bytes a rank from which non-temporal stores are tried by default.
constexpr std::uint64_t kLeastNonTemporalBytes = 4 * 1024;
// Between hosts several lanes keep a link busy while one waits for an answer.
constexpr int kManyLanes = 8;
constexpr std::uint64_t kLeastManyLanesBytes = 64 * 1024;
// On a GPU a lane is a block of threads, and a few of many blocks move little; packets pay longer,
// because a flag behind the data costs a round over the link.
constexpr int kSomeDeviceLanes = 4;
constexpr int kManyDeviceLanes = 16;
constexpr std::uint64_t kMostDeviceLlBytes = 32 * 1024;
struct Variant {
  const Algorithm* row = nullptr;
  Parameters parameters{};
  StorePolicy store = StorePolicy::kCached;
};

std::string_view Name(Protocol protocol) { return protocol == Protocol::kLl ? "ll" : "simple"; }
std::string_view Name(StorePolicy store) {
  return store == StorePolicy::kNonTemporal ? "non_temporal" : "cached";
}

std::vector<Protocol> ProtocolsFor(const SweepOptions& options, const Algorithm& row,
                                   std::uint64_t size) {
  const std::uint64_t most_ll =
      options.memory == MemoryKind::kCuda ? kMostDeviceLlBytes : kMostLlBytes;
  std::vector<Protocol> wanted = options.protocols;
  if (wanted.empty()) {
    wanted = {Protocol::kSimple};
    if (size <= most_ll) wanted.push_back(Protocol::kLl);
  }
  std::erase_if(wanted, [&](Protocol p) { return p == Protocol::kLl && !row.has_ll; });
  return wanted;
}

std::vector<StorePolicy> StoresFor(const SweepOptions& options, const Algorithm& row,
                                   Protocol protocol, std::uint64_t size, int ranks) {
  if (options.memory == MemoryKind::kCuda) return {StorePolicy::kCached};  // has one way only
  if (!options.stores.empty()) return options.stores;
  const bool peers = row.simple_uses_peer_memory && protocol == Protocol::kSimple;
  if (peers && size / ranks >= kLeastNonTemporalBytes) {
    return {StorePolicy::kCached, StorePolicy::kNonTemporal};
  }
  return {StorePolicy::kCached};
}

// The levels to try of a row `hierarchical`, or no levels for every other row. Where there is one
// node only, one variant says so.
std::vector<Levels> LevelsFor(const SweepContext& context, const Algorithm& row,
                              Protocol protocol) {
  if (row.name != kHierarchical) return {{}};
  std::vector<Levels> levels;
  const auto& names = context.options->algorithms;
  if (names.empty() || std::find(names.begin(), names.end(), kHierarchical) != names.end()) {
    levels = context.placement == nullptr
                 ? std::vector<Levels>{{}}
                 : UsualLevels(row.collective, protocol, context.placement);
  }
  for (const std::string& name : names) {
    if (!HasLevels(name)) continue;
    const Levels asked = ParseLevels(name);
    // Where nobody asked for packets either, levels without them are no row.
    const bool tried = context.options->protocols.empty() && protocol == Protocol::kLl;
    if (tried && !WhyUnfit(row.collective, asked, protocol).empty()) continue;
    if (std::find(levels.begin(), levels.end(), asked) == levels.end()) levels.push_back(asked);
  }
  return levels;
}

bool IsAskedFor(const SweepOptions& options, const Algorithm& row) {
  const auto& names = options.algorithms;
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return name == row.name || (row.name == kHierarchical && HasLevels(name));
         });
}

std::vector<int> LanesFor(const SweepContext& context, std::uint64_t size) {
  if (!context.options->lanes.empty()) return context.options->lanes;
  if (context.device != nullptr) {
    return size < kLeastManyLanesBytes ? std::vector<int>{1}
                                       : std::vector<int>{kSomeDeviceLanes, kManyDeviceLanes};
  }
  if (context.hosts == 1 || size < kLeastManyLanesBytes) return {1};
  return {1, kManyLanes};
}

// A variant of the row under a protocol and stores, with every number of lanes and slices.
void AddVariants(const SweepContext& context, std::uint64_t size, const Variant& like,
                 std::vector<Variant>& variants) {
  for (const int lanes : LanesFor(context, size)) {
    for (const int slices : context.options->slices) {
      Variant variant = like;
      variant.parameters.lanes = lanes;
      variant.parameters.slices = slices;
      variants.push_back(variant);
    }
  }
}

std::vector<Variant> MakeVariants(const SweepContext& context, const Cell& cell) {
  const SweepOptions& options = *context.options;
  const std::uint64_t size = SizeBytes(cell.collective, cell.count, cell.type, cell.ranks);
  std::vector<Variant> variants;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective != cell.collective) continue;
    if (!IsAskedFor(options, row)) continue;
    for (const Protocol protocol : ProtocolsFor(options, row, size)) {
      for (const StorePolicy store : StoresFor(options, row, protocol, size, cell.ranks)) {
        for (const Levels& levels : LevelsFor(context, row, protocol)) {
          Variant variant{&row, {}, store};
          variant.parameters.protocol = protocol;
          variant.parameters.levels = levels;
          variant.parameters.placement = context.placement;
          AddVariants(context, size, variant, variants);
        }
      }
    }
  }
  return variants;
}

// Rank 0 proves the program; all ranks learn whether it may run.
std::string AgreeVerdict(const SweepContext& context, const Algorithm& row, const Cell& cell,
                         const CallFlow& flow) {
  std::byte may_run{1};
  std::string verdict;
  if (context.session->rank() == 0) {
    verdict = context.verified->Check(row, EvenCounts(cell.shape(), cell.count), cell.type, flow);
    may_run = verdict.starts_with("fault") ? std::byte{0} : std::byte{1};
  }
  context.session->Broadcast({&may_run, 1}, 0);
  if (may_run == std::byte{0} && verdict.empty()) verdict = "fault";
  return verdict;
}

// UCX brings what goes over TCP through memory of the host, too.
std::string FarTransport(const SweepContext& context, int peer) {
  std::string transport = context.wire->Transport(peer);
  if (context.device == nullptr) return transport;
  const bool direct = context.device->path() == ProxyPath::kDirect && transport != "ucx:tcp";
  return transport + (direct ? "+gdr" : "+staged");
}

// How the ranks reach each other in this program: all kinds together, the same text on all ranks.
std::string FindTransport(const SweepContext& context, const Cell& cell, const Variant& variant) {
  Session& session = *context.session;
  std::string near = context.device != nullptr              ? context.device->Transport()
                     : session.kind() == RankKind::kThreads ? "threads"
                                                            : "shm:memfd";
  if (context.hosts == 1) return near;
  std::set<std::string> kinds;
  const RankProgram program = variant.row->build(cell.shape(), session.rank(), variant.parameters);
  const std::vector<int> connected = context.wire->connected();
  for (const int peer : PartnersOf(program)) {
    const bool is_far = std::binary_search(connected.begin(), connected.end(), peer);
    kinds.insert(is_far ? FarTransport(context, peer) : near);
  }
  const nlohmann::ordered_json mine(kinds);
  for (const auto& theirs : GatherJson(session, mine)) {
    for (const auto& kind : theirs) kinds.insert(kind.get<std::string>());
  }
  const bool is_staged = std::any_of(kinds.begin(), kinds.end(), [](const std::string& kind) {
    return kind.ends_with("+staged");
  });
  if (context.options->requires_gdr && is_staged) {
    throw Agreed<EnvironmentError>(
        fmt::format("--require gdr: messages go by {}", fmt::join(kinds, " and ")));
  }
  return fmt::format("{}", fmt::join(kinds, "+"));
}

double WireBytes(const Variant& variant, const Cell& cell, std::uint64_t size) {
  double most = 0;
  for (int rank = 0; rank < cell.ranks; ++rank) {
    most = std::max(most, variant.row->wire_fraction(cell.shape(), rank, variant.parameters));
  }
  // A packet carries 4 bytes of data in 8.
  const double inflation = variant.parameters.protocol == Protocol::kLl ? 2 : 1;
  return most * inflation * static_cast<double>(size);
}

// Parameters are sorted by their names.
std::string LevelsBefore(const Levels& levels) {
  return ParametersOf({.intra = levels.intra, .rack = {}, .inter = levels.inter}) + ";";
}

Competitor MakeHockney(const SweepContext& context, const Cell& cell, const Variant& variant,
                       std::span<const BufferSet> sets) {
  Competitor competitor;
  SweepRow& row = competitor.row;
  row = StartRow(context, cell);
  row.implementation = "hockney";
  row.algorithm = variant.row->name;
  row.requested_algorithm = variant.row->name;
  row.protocol = Name(variant.parameters.protocol);
  row.lanes = variant.parameters.lanes;
  const Levels& levels = variant.parameters.levels;
  if (levels != Levels{}) row.parameters = ParametersOf(levels);
  competitor.label = LabelOf(row);
  const std::string reason = WhyNotPlaced(*variant.row, variant.parameters);
  if (!reason.empty()) {
    Skip(competitor, Status::kSkipped, reason);
    return competitor;
  }
  row.wire_bytes_per_rank = WireBytes(variant, cell, row.size_bytes);
  const Call first = MakeCall(cell, sets[0]);
  try {
    const CallFlow flow =
        ChooseFlow(*variant.row, first.counts, cell.type, variant.parameters, context.limits());
    row.parameters =
        (levels == Levels{} ? "" : LevelsBefore(levels)) +
        "pieces=" + std::to_string(flow.parameters.pieces) +
        (levels.rack.empty() ? "" : ";rack=" + std::string(levels.rack)) +
        ";slice_bytes=" + std::to_string(flow.slice_bytes) +
        ";slices=" + std::to_string(flow.flow.slices) +
        ";slots=" + std::to_string(flow.flow.slots) +
        (context.device != nullptr ? "" : ";store=" + std::string(Name(variant.store)));
    const std::string verdict = AgreeVerdict(context, *variant.row, cell, flow);
    if (verdict.starts_with("fault")) {
      Skip(competitor, Status::kFailed, verdict);
      row.verified = "no";
      return competitor;
    }
    row.verified = verdict;
    for (const BufferSet& set : sets) {
      const Call call = MakeCall(cell, set);
      if (context.device == nullptr) {
        competitor.prepared.push_back(
            context.executor->Prepare(call, *variant.row, flow, variant.store));
        continue;
      }
      auto on_device = context.device->Prepare(call, *variant.row, flow);
      competitor.on_device.push_back(on_device.get());
      competitor.prepared.push_back(std::move(on_device));
    }
    row.transport = FindTransport(context, cell, variant);
  } catch (const std::invalid_argument& error) {
    Skip(competitor, Status::kSkipped, error.what());
  }
  return competitor;
}

}  // namespace

int MostUsualLanes(MemoryKind memory, int hosts) {
  if (memory == MemoryKind::kCuda) return kManyDeviceLanes;
  return hosts == 1 ? 1 : kManyLanes;
}

SweepRow StartRow(const SweepContext& context, const Cell& cell) {
  SweepRow row;
  row.collective = cell.collective;
  row.mode = context.options->mode == TimingMode::kStreamed ? "streamed" : "isolated";
  constexpr const char* kStates[] = {"refreshed", "hot", "cold"};
  row.buffers = kStates[static_cast<int>(context.options->buffers)];
  row.clock = Name(context.clock);
  if (context.device == nullptr) {
    row.page_kib = static_cast<std::int64_t>(context.domain->page_kib());
  }
  row.memory_kind = context.device == nullptr ? "host" : "cuda";
  if (HasRoot(cell.collective)) row.root = cell.root;
  if (cell.collective != Collective::kBarrier) row.dtype = cell.type;
  if (Reduces(cell.collective)) row.op = cell.op;
  row.ranks = cell.ranks;
  row.nodes = context.hosts;
  row.size_bytes = SizeBytes(cell.collective, cell.count, cell.type, cell.ranks);
  row.count = cell.count;
  row.in_place = cell.in_place;
  row.oversubscribed = context.oversubscribed;
  row.burst_limited = false;
  return row;
}

std::string LabelOf(const SweepRow& row) {
  std::string what = row.implementation == "hockney" ? AlgorithmOf(row) : row.implementation;
  if (row.implementation == "mpi" && row.algorithm != "default") what += " " + row.algorithm;
  return fmt::format("{} {}{}, {} bytes", hockney::Name(row.collective), what,
                     row.protocol == "ll" ? " ll" : "", row.size_bytes);
}

void Skip(Competitor& competitor, Status status, std::string reason) {
  competitor.row.status = status;
  competitor.row.reason = std::move(reason);
  competitor.on_device.clear();
  competitor.prepared.clear();
}

Call MakeCall(const Cell& cell, const BufferSet& set) {
  Call call;
  call.shape = cell.shape();
  call.counts = EvenCounts(call.shape, cell.count);
  call.type = cell.type;
  call.op = cell.op;
  call.input = set.input().empty() ? nullptr : set.input().data();
  call.output = set.output().empty() ? nullptr : set.output().data();
  return call;
}

std::vector<Competitor> MakeCompetitors(const SweepContext& context, const Cell& cell,
                                        std::span<const BufferSet> sets) {
  std::vector<Competitor> competitors;
  const auto& wanted = context.options->implementations;
  const auto has = [&](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  if (has("hockney")) {
    for (const Variant& variant : MakeVariants(context, cell)) {
      competitors.push_back(MakeHockney(context, cell, variant, sets));
    }
  }
  if (has("mpi")) {
    for (Competitor& mpi : MakeMpiCompetitors(context, cell, sets)) {
      competitors.push_back(std::move(mpi));
    }
  }
  if (has("nccl")) {
    for (Competitor& nccl : MakeNcclCompetitors(context, cell, sets)) {
      competitors.push_back(std::move(nccl));
    }
  }
  if (context.options->tuned != nullptr) AddTuned(context, cell, sets, competitors);
  return competitors;
}

Competitor MakeNamed(const SweepContext& context, const Cell& cell, const NamedAlgorithm& named,
                     std::span<const BufferSet> sets) {
  Variant variant{named.row, named.parameters,
                  named.non_temporal ? StorePolicy::kNonTemporal : StorePolicy::kCached};
  variant.parameters.placement = context.placement;
  return MakeHockney(context, cell, variant, sets);
}

}  // namespace hockney
