#include "tuner/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tuner/simulate/collapse.h"

namespace hockney {
namespace {

constexpr int kFirstPieces = 8;
// From here on a steady mean will do: in a network that is full everywhere no two pieces are alike
// to the last digit.
constexpr int kManyPieces = 16;
constexpr std::size_t kManyRanks = 1024;  // too many to begin with too few pieces
constexpr double kSamePace = 0.005;
constexpr double kSameTime = 1e-9;   // relative to what passed
constexpr double kSameBytes = 1e-6;  // of a bucket

Parameters Placed(Parameters parameters, const SimMachine& machine, const PlacedRanks& placed) {
  parameters.placement = &machine.placement;
  parameters.placed = &placed;
  return parameters;
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

// How much later each lane was through with piece k + 1 than with piece k.
std::vector<double> Shifts(const EngineResult& result, int k) {
  std::vector<double> shifts;
  shifts.reserve(result.piece_ends[k].size());
  for (std::size_t lane = 0; lane < result.piece_ends[k].size(); ++lane) {
    shifts.push_back(result.piece_ends[k + 1][lane] - result.piece_ends[k][lane]);
  }
  return shifts;
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

// Whether pieces k, k + 1 and k + 2 repeat: all lanes later by the same, and buckets as full.
bool Repeats(const EngineResult& result, int k) {
  const std::vector<double> first = Shifts(result, k);
  const std::vector<double> second = Shifts(result, k + 1);
  for (std::size_t lane = 0; lane < first.size(); ++lane) {
    if (!Same(first[lane], first[0], result.seconds)) return false;
    if (!Same(second[lane], first[0], result.seconds)) return false;
  }
  return SameBuckets(result, k + 1, k + 2);
}

// What a piece takes between pieces a and b, mean over the lanes.
double MeanPace(const EngineResult& result, int a, int b) {
  double sum = 0;
  for (std::size_t lane = 0; lane < result.piece_ends[a].size(); ++lane) {
    sum += result.piece_ends[b][lane] - result.piece_ends[a][lane];
  }
  return sum / static_cast<double>(result.piece_ends[a].size()) / (b - a);
}

// The time from one piece to the next when enough were simulated to tell, else nothing.
std::optional<double> FindPace(const EngineResult& result, int pieces) {
  if (Repeats(result, pieces - 4)) return Shifts(result, pieces - 3)[0];
  if (pieces < kManyPieces) return std::nullopt;
  const double before = MeanPace(result, pieces / 4, pieces / 2);
  const double after = MeanPace(result, pieces / 2, pieces * 3 / 4);
  const bool steady = std::abs(after - before) <= kSamePace * after &&
                      SameBuckets(result, pieces / 2, pieces * 3 / 4);
  return steady ? std::optional(after) : std::nullopt;
}

}  // namespace

Simulation::Simulation(const SimRequest& request, const SimMachine& machine,
                       const SimOptions& options)
    : machine_(machine),
      placed_(machine_.placement),
      options_(options),
      flow_(ChooseFlow(*request.row, request.counts, request.type,
                       Placed(request.parameters, machine_, placed_), request.limits)),
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
}

EngineResult Simulation::RunPieces(int pieces, std::vector<SliceRecord>* records) const {
  const ResourceMap map(machine_, classes_);
  const SimCall call{.layout = &layout_,
                     .flow = flow_.flow,
                     .protocol = protocol_,
                     .slice_bytes = flow_.slice_bytes,
                     .even_chunk_bytes = even_chunk_bytes_,
                     .pieces = pieces,
                     .all_pieces = flow_.parameters.pieces};
  SimEngine engine(machine_, map, codes_, classes_, call);
  engine.RecordInto(records);
  return engine.Run(options_.buckets_full);
}

SimResult Simulation::Finish(const EngineResult& engine, int pieces, double pace) const {
  SimResult result{.seconds = engine.seconds,
                   .bytes = engine.bytes,
                   .messages = engine.messages,
                   .ranks = static_cast<int>(codes_.size()),
                   .classes = static_cast<int>(classes_.representative.size()),
                   .pieces = flow_.parameters.pieces,
                   .simulated_pieces = pieces,
                   .slices = engine.slices,
                   .events = engine.events,
                   .solves = engine.solves};
  const int left_out = result.pieces - pieces;
  if (left_out == 0) return result;
  result.seconds += left_out * pace;
  for (int level = 0; level < kSimLevels; ++level) {
    const double a_piece =
        engine.piece_bytes[pieces - 2][level] - engine.piece_bytes[pieces - 3][level];
    const double share = result.bytes[level] > 0 ? a_piece / result.bytes[level] : 0;
    result.messages[level] *= 1 + left_out * share;
    result.bytes[level] += left_out * a_piece;
  }
  return result;
}

SimResult Simulation::Run() const {
  const int all = flow_.parameters.pieces;
  const bool large = classes_.representative.size() > kManyRanks;
  for (int pieces = large ? kManyPieces : kFirstPieces; options_.extrapolate && pieces < all;
       pieces *= 2) {
    const EngineResult result = RunPieces(pieces, nullptr);
    const auto pace = FindPace(result, pieces);
    if (pace) return Finish(result, pieces, *pace);
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
