#include "tuner/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "tuner/simulate/collapse.h"

namespace hockney {
namespace {

// Enough for the slots of connections to fill up.
constexpr int kFirstPieces = 16;
// In a network that is full everywhere no two pieces are alike to the last digit. There a
// steady pace will do where all would be too many slices.
constexpr double kMostSlices = 1e6;
constexpr std::size_t kManyRanks = 1024;
constexpr int kFewPieces = 24;
constexpr int kFewerPieces = 12;
constexpr double kSamePace = 0.02;
constexpr double kSameTime = 1e-9;   // relative to what passed
constexpr double kSameBytes = 1e-6;  // of a bucket
constexpr int kMostCalls = 8;        // until they are alike
constexpr double kSameCall = 1e-3;

Parameters Placed(Parameters parameters, const SimMachine& machine, const PlacedRanks& placed) {
  parameters.placement = &machine.placement;
  parameters.placed = &placed;
  return parameters;
}

// Those that tell how large messages are: all, of very many the root, and the first and last ones.
std::vector<int> RanksToLookAt(const Counts& counts) {
  constexpr int kAll = 2048;
  constexpr int kSome = 64;
  if (counts.ranks <= kAll) return EveryRankAlone(counts.ranks).representative;
  std::vector<int> ranks = {counts.root};
  for (int i = 0; i < kSome; ++i) {
    ranks.push_back(i);
    ranks.push_back(counts.ranks - 1 - i);
  }
  return ranks;
}

bool HasHoles(const Cut& cut) {
  return std::find(cut.grid.begin(), cut.grid.end(), -1) != cut.grid.end();
}

// The bytes of every chunk if all have as many, else 0.
std::size_t EvenChunk(const Layout& layout, const Counts& counts, DataType type) {
  if (counts.counts.empty() || HasHoles(layout.cut())) return 0;
  const auto all_equal = std::all_of(counts.counts.begin(), counts.counts.end(),
                                     [&](std::uint64_t n) { return n == counts.counts[0]; });
  if (!all_equal) return 0;
  const std::size_t chunk = layout.LargestChunkBytes();
  const std::size_t cuts = static_cast<std::size_t>(layout.cut().lanes) * layout.cut().chunks;
  return chunk * cuts == counts.counts[0] * ElementBytes(type) ? chunk : 0;
}

bool Same(double a, double b, double scale) { return std::abs(a - b) <= kSameTime * scale; }

// Whether the buckets are as full after piece b as after piece a.
bool SameBuckets(const EngineResult& result, int a, int b) {
  for (std::size_t i = 0; i < result.bucket_bytes[a].size(); ++i) {
    const double before = result.bucket_bytes[a][i];
    const double after = result.bucket_bytes[b][i];
    if (std::abs(after - before) > kSameBytes * (before + after) + 1) return false;
  }
  return true;
}

// What a piece takes each lane between pieces a and b.
std::vector<double> Paces(const EngineResult& result, int a, int b) {
  std::vector<double> paces;
  paces.reserve(result.piece_ends[a].size());
  for (std::size_t lane = 0; lane < result.piece_ends[a].size(); ++lane) {
    paces.push_back((result.piece_ends[b][lane] - result.piece_ends[a][lane]) / (b - a));
  }
  return paces;
}

// Pieces until slots of connections are used in the same order again.
int PeriodOf(const Flow& flow) { return flow.slots / std::gcd(flow.slots, flow.slices); }

// The pace of all lanes where the last two periods shift them alike, with buckets as full.
std::optional<double> RepeatedPace(const EngineResult& result, int period) {
  const int end =
      static_cast<int>(result.piece_ends.size()) - 2;  // the last piece may be a small one
  if (end < 2 * period) return std::nullopt;
  const std::vector<double> before = Paces(result, end - 2 * period, end - period);
  const std::vector<double> after = Paces(result, end - period, end);
  for (std::size_t lane = 0; lane < before.size(); ++lane) {
    if (!Same(before[lane], after[0], result.seconds)) return std::nullopt;
    if (!Same(after[lane], after[0], result.seconds)) return std::nullopt;
  }
  return SameBuckets(result, end - period, end) ? std::optional(after[0]) : std::nullopt;
}

// How much later the last lane is through when as many more pieces come at these paces.
double Extra(const EngineResult& result, std::span<const double> paces, int more) {
  const std::vector<double>& ends = result.piece_ends.back();
  double last = 0;
  for (std::size_t lane = 0; lane < ends.size(); ++lane) {
    last = std::max(last, ends[lane] + more * paces[lane]);
  }
  return last - *std::max_element(ends.begin(), ends.end());
}

// The time of the pieces that were left out when enough were simulated to tell, else nothing: when
// they repeat, or, where simulating all would take too long, when the slowest lane's pace is
// steady.
std::optional<double> FindExtra(const EngineResult& result, int period, int left_out) {
  const auto pace = RepeatedPace(result, period);
  if (pace) return left_out * *pace;
  const int pieces = static_cast<int>(result.piece_ends.size());
  const double all_slices = static_cast<double>(result.slices) * (pieces + left_out) / pieces;
  if (all_slices < kMostSlices) return std::nullopt;
  const std::vector<double> before = Paces(result, pieces / 4, pieces / 2);
  const std::vector<double> after = Paces(result, pieces / 2, pieces * 3 / 4);
  const double slow_before = *std::max_element(before.begin(), before.end());
  const double slow_after = *std::max_element(after.begin(), after.end());
  const bool steady = std::abs(slow_after - slow_before) <= kSamePace * slow_after &&
                      SameBuckets(result, pieces / 2, pieces * 3 / 4);
  return steady ? std::optional(Extra(result, after, left_out)) : std::nullopt;
}

}  // namespace

Simulation::Simulation(const SimRequest& request, const SimMachine& machine,
                       const SimOptions& options)
    : machine_(machine),
      placed_(machine_.placement),
      options_(options),
      flow_(ChooseFlow({*request.row, request.counts, request.type,
                        Placed(request.parameters, machine_, placed_), request.limits},
                       RanksToLookAt(request.counts))),
      layout_(request.counts, request.type, flow_.cut),
      protocol_(request.parameters.protocol) {
  const Shape shape{request.row->collective, request.counts.ranks, request.counts.root};
  codes_.reserve(shape.ranks);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    codes_.push_back(MakeRankCode(request.row->build(shape, rank, flow_.parameters)));
  }
  even_chunk_bytes_ = EvenChunk(layout_, request.counts, request.type);
  const bool may_collapse = options.collapse && !HasHoles(layout_.cut()) &&
                            request.row->collective != Collective::kAllToAllV;
  classes_ = may_collapse ? CollapseRanks(codes_, machine_) : EveryRankAlone(shape.ranks);
  if (!classes_.trivial()) even_chunk_bytes_ = layout_.LargestChunkBytes();
  map_ = std::make_unique<ResourceMap>(machine_, classes_);
  FindBuckets();
}

void Simulation::FindBuckets() {
  const std::vector<double> refill = RefilledBuckets(map_->resources(), options_.refill_seconds);
  buckets_ = refill;
  if (!options_.repeats || refill.empty()) return;
  double seconds = 0;
  for (int call = 0; call < kMostCalls; ++call) {
    const SimResult result = Run();
    if (std::abs(result.seconds - seconds) <= kSameCall * result.seconds) return;
    seconds = result.seconds;
    buckets_ = RefilledBuckets(map_->resources(), options_.refill_seconds, result.end_buckets);
  }
}

EngineResult Simulation::RunPieces(int pieces, std::vector<SliceRecord>* records) const {
  const SimCall call{.layout = &layout_,
                     .flow = flow_.flow,
                     .protocol = protocol_,
                     .slice_bytes = flow_.slice_bytes,
                     .even_chunk_bytes = even_chunk_bytes_,
                     .pieces = pieces,
                     .all_pieces = flow_.parameters.pieces};
  SimEngine engine(machine_, *map_, codes_, classes_, call);
  engine.RecordInto(records);
  return engine.Run(buckets_);
}

SimResult Simulation::Finish(const EngineResult& engine, int pieces, double extra) const {
  SimResult result{.seconds = engine.seconds,
                   .bytes = engine.bytes,
                   .messages = engine.messages,
                   .ranks = static_cast<int>(codes_.size()),
                   .classes = static_cast<int>(classes_.representative.size()),
                   .pieces = flow_.parameters.pieces,
                   .simulated_pieces = pieces,
                   .slices = engine.slices,
                   .events = engine.events,
                   .solves = engine.solves,
                   .end_buckets = engine.end_buckets};
  const int left_out = result.pieces - pieces;
  if (left_out == 0) return result;
  result.seconds += extra;
  for (int level = 0; level < kSimLevels; ++level) {
    result.messages[level] *= static_cast<double>(result.pieces) / pieces;
    result.bytes[level] += left_out * engine.piece_bytes[pieces - 2][level];
  }
  return result;
}

// Of very many ranks no more is simulated than tells what a piece takes when the pipeline is full:
// the difference between calls of few pieces.
std::optional<SimResult> Simulation::RunFew(int all) const {
  if (classes_.representative.size() <= kManyRanks || kFewPieces >= all) return std::nullopt;
  const double before = RunPieces(kFewerPieces, nullptr).seconds;
  const EngineResult result = RunPieces(kFewPieces, nullptr);
  const double pace = (result.seconds - before) / (kFewPieces - kFewerPieces);
  return Finish(result, kFewPieces, (all - kFewPieces) * pace);
}

SimResult Simulation::Run() const {
  const int all = flow_.parameters.pieces;
  const int period = PeriodOf(flow_.flow);
  if (options_.extrapolate) {
    const auto few = RunFew(all);
    if (few) return *few;
  }
  for (int begin = kFirstPieces; options_.extrapolate; begin *= 2) {
    const int pieces = begin + (all - begin) % period;  // whole periods are left out
    if (2 * pieces >= all) break;                       // all of them take hardly longer
    const EngineResult result = RunPieces(pieces, nullptr);
    const auto extra = FindExtra(result, period, all - pieces);
    if (extra) return Finish(result, pieces, *extra);
  }
  return Finish(RunPieces(all, nullptr), all, 0);
}

SimResult Simulation::Trace(std::vector<SliceRecord>* records) const {
  const int all = flow_.parameters.pieces;
  return Finish(RunPieces(all, records), all, 0);
}

std::vector<Simulation::LaneName> Simulation::LaneNames() const {
  std::vector<LaneName> names;
  for (const int rank : classes_.representative) {
    for (std::size_t lane = 0; lane < codes_[rank].lanes.size(); ++lane) {
      names.push_back({rank, static_cast<int>(lane)});
    }
  }
  return names;
}

}  // namespace hockney
