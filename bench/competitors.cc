#include "bench/competitors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>

#include "bench/cell.h"
#include "collectives/baselines/mpi/mpi_baseline.h"
#include "collectives/partners.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

// Sizes up to which packets are tried by default: they save a hop where latency is all, and cost a
// pass a word. (results/README.md).
constexpr std::uint64_t kMostLlBytes = 1024;
// Bytes a rank from which non-temporal stores are tried by default.
constexpr std::uint64_t kLeastNonTemporalBytes = 4 * 1024;
// Pieces up to which a program is proved as it is run; the loop over pieces repeats, so more are
// sampled with three.
constexpr int kMostVerifiedPieces = 8;
constexpr double kVerifySeconds = 2;

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
  std::vector<Protocol> wanted = options.protocols;
  if (wanted.empty()) {
    wanted = {Protocol::kSimple};
    if (size <= kMostLlBytes) wanted.push_back(Protocol::kLl);
  }
  std::erase_if(wanted, [&](Protocol p) { return p == Protocol::kLl && !row.has_ll; });
  return wanted;
}

std::vector<StorePolicy> StoresFor(const SweepOptions& options, const Algorithm& row,
                                   Protocol protocol, std::uint64_t size, int ranks) {
  if (!options.stores.empty()) return options.stores;
  const bool peers = row.simple_uses_peer_memory && protocol == Protocol::kSimple;
  if (peers && size / ranks >= kLeastNonTemporalBytes) {
    return {StorePolicy::kCached, StorePolicy::kNonTemporal};
  }
  return {StorePolicy::kCached};
}

std::vector<Variant> MakeVariants(const SweepOptions& options, const Cell& cell) {
  const std::uint64_t size = SizeBytes(cell.collective, cell.count, cell.type, cell.ranks);
  std::vector<Variant> variants;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective != cell.collective) continue;
    const auto& names = options.algorithms;
    if (!names.empty() && std::find(names.begin(), names.end(), row.name) == names.end()) continue;
    for (const Protocol protocol : ProtocolsFor(options, row, size)) {
      for (const StorePolicy store : StoresFor(options, row, protocol, size, cell.ranks)) {
        for (const int lanes : options.lanes) {
          for (const int slices : options.slices) {
            Variant variant{&row, {}, store};
            variant.parameters.slices = slices;
            variant.parameters.protocol = protocol;
            variant.parameters.lanes = lanes;
            variants.push_back(variant);
          }
        }
      }
    }
  }
  return variants;
}

SweepRow MakeRow(const SweepContext& context, const Cell& cell) {
  SweepRow row;
  row.collective = cell.collective;
  row.mode = context.options->mode == TimingMode::kStreamed ? "streamed" : "isolated";
  constexpr const char* kStates[] = {"refreshed", "hot", "cold"};
  row.buffers = kStates[static_cast<int>(context.options->buffers)];
  row.clock = Name(context.clock);
  row.page_kib = static_cast<std::int64_t>(context.domain->page_kib());
  row.memory_kind = "host";
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
  return fmt::format("{} {}{}, {} bytes", hockney::Name(row.collective),
                     row.implementation == "mpi" ? "mpi" : row.algorithm,
                     row.protocol == "ll" ? " ll" : "", row.size_bytes);
}

void Skip(Competitor& competitor, Status status, std::string reason) {
  competitor.row.status = status;
  competitor.row.reason = std::move(reason);
  competitor.prepared.clear();
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

// How the ranks reach each other in this program: all kinds together, the same text on all ranks.
std::string FindTransport(const SweepContext& context, const Cell& cell, const Variant& variant) {
  Session& session = *context.session;
  if (session.kind() == RankKind::kThreads) return "threads";
  if (context.hosts == 1) return "shm:memfd";
  std::set<std::string> kinds;
  const RankProgram program = variant.row->build(cell.shape(), session.rank(), variant.parameters);
  for (const int peer : PartnersOf(program)) {
    kinds.insert(context.domain->IsLocal(peer) ? "shm:memfd"
                                               : context.domain->remote()->wire().Transport(peer));
  }
  const std::string mine = fmt::format("{}", fmt::join(kinds, "+"));
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(mine)))) {
    std::istringstream theirs(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    for (std::string kind; std::getline(theirs, kind, '+');) kinds.insert(kind);
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

Competitor MakeHockney(const SweepContext& context, const Cell& cell, const Variant& variant,
                       std::span<const BufferSet> sets) {
  Competitor competitor;
  SweepRow& row = competitor.row;
  row = MakeRow(context, cell);
  row.implementation = "hockney";
  row.algorithm = variant.row->name;
  row.requested_algorithm = variant.row->name;
  row.protocol = Name(variant.parameters.protocol);
  row.lanes = variant.parameters.lanes;
  row.wire_bytes_per_rank = WireBytes(variant, cell, row.size_bytes);
  competitor.label = LabelOf(row);
  const bool reaches_memory =
      variant.row->simple_uses_peer_memory && variant.parameters.protocol == Protocol::kSimple;
  if (reaches_memory && context.hosts > 1) {
    Skip(competitor, Status::kSkipped, "works in its peers' memory: for the ranks of one host");
    return competitor;
  }
  const Call first = MakeCall(cell, sets[0]);
  try {
    const CallFlow flow = ChooseFlow(*variant.row, first.counts, cell.type, variant.parameters,
                                     context.domain->options().limits);
    row.parameters = "pieces=" + std::to_string(flow.parameters.pieces) +
                     ";slice_bytes=" + std::to_string(flow.slice_bytes) +
                     ";slices=" + std::to_string(flow.flow.slices) +
                     ";slots=" + std::to_string(flow.flow.slots) +
                     ";store=" + std::string(Name(variant.store));
    const std::string verdict = AgreeVerdict(context, *variant.row, cell, flow);
    if (verdict.starts_with("fault")) {
      Skip(competitor, Status::kFailed, verdict);
      row.verified = "no";
      return competitor;
    }
    row.verified = verdict;
    for (const BufferSet& set : sets) {
      competitor.prepared.push_back(
          context.executor->Prepare(MakeCall(cell, set), *variant.row, flow, variant.store));
    }
    row.transport = FindTransport(context, cell, variant);
  } catch (const std::invalid_argument& error) {
    Skip(competitor, Status::kSkipped, error.what());
  }
  return competitor;
}

Competitor MakeMpi(const SweepContext& context, const Cell& cell, std::span<const BufferSet> sets) {
  Competitor competitor;
  competitor.row = MakeRow(context, cell);
  competitor.row.implementation = "mpi";
  competitor.row.algorithm = "default";
  competitor.row.requested_algorithm = "default";
  competitor.label = LabelOf(competitor.row);
  if (context.mpi == nullptr) {
    Skip(competitor, Status::kSkipped, "MPI runs between processes of its launcher");
    return competitor;
  }
  competitor.row.transport = context.mpi->Module();
  competitor.row.parameters = "library=" + context.mpi->Library();
  const std::string reason = context.mpi->WhyNot(MakeCall(cell, sets[0]));
  // What MPI cannot do may depend on the rank (a root's buffers): nobody runs what one cannot.
  const auto all = context.session->AllGather(std::as_bytes(std::span(reason)));
  for (const auto& theirs : all) {
    if (theirs.empty()) continue;
    Skip(competitor, Status::kSkipped,
         std::string(reinterpret_cast<const char*>(theirs.data()), theirs.size()));
    return competitor;
  }
  for (const BufferSet& set : sets) {
    competitor.prepared.push_back(context.mpi->Prepare(MakeCall(cell, set)));
  }
  return competitor;
}

}  // namespace

std::string VerifyCache::Check(const Algorithm& row, const Counts& counts, DataType type,
                               const CallFlow& flow) {
  CallFlow proved = flow;
  const int pieces = flow.parameters.pieces;
  const bool all_pieces = pieces <= kMostVerifiedPieces;
  if (!all_pieces) proved.parameters.pieces = 3;
  // Slices only matter to connections, at most `slots` - 1 of them; peer shapes repeat the same
  // pass.
  const bool all_slices = flow.flow.slices < flow.flow.slots;
  if (!all_slices) proved.flow.slices = 2;
  const std::string key = std::string(Name(row.collective)) + " " + std::string(row.name) + " " +
                          std::to_string(counts.ranks) + " " + std::to_string(counts.root) + " " +
                          std::to_string(proved.parameters.lanes) + " " +
                          std::to_string(proved.parameters.pieces) + " " +
                          std::to_string(proved.flow.slices) + " " +
                          std::string(Name(proved.parameters.protocol));
  const auto known = verdicts_.find(key);
  std::string verdict = known == verdicts_.end() ? "" : known->second;
  if (verdict.empty()) {
    const Shape shape{row.collective, counts.ranks, counts.root};
    const Layout layout(counts, type, row.build(shape, 0, proved.parameters).cut);
    const Verdict result =
        VerifyAlgorithm(row, layout, proved.parameters, proved.flow, kVerifySeconds);
    verdict = result.complete ? "yes" : "sampled";
    if (result.fault) {
      verdict =
          "fault: " + std::string(hockney::Name(result.fault->kind)) + ": " + result.fault->text;
    }
    verdicts_[key] = verdict;
  }
  return verdict == "yes" && !(all_pieces && all_slices) ? "sampled" : verdict;
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
    for (const Variant& variant : MakeVariants(*context.options, cell)) {
      competitors.push_back(MakeHockney(context, cell, variant, sets));
    }
  }
  if (has("mpi")) competitors.push_back(MakeMpi(context, cell, sets));
  return competitors;
}

}  // namespace hockney
