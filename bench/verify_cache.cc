#include "bench/verify_cache.h"

#include "collectives/levels.h"
#include "collectives/verify.h"

namespace hockney {
namespace {

// Pieces up to which a program is proved as it is run; the loop over pieces repeats, so more are
// sampled with three.
constexpr int kMostVerifiedPieces = 8;
constexpr double kVerifySeconds = 2;

std::string_view Name(Protocol protocol) { return protocol == Protocol::kLl ? "ll" : "simple"; }

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
  const std::string key =
      std::string(Name(row.collective)) + " " + std::string(row.name) + " " +
      std::to_string(counts.ranks) + " " + std::to_string(counts.root) + " " +
      std::to_string(proved.parameters.lanes) + " " + std::to_string(proved.parameters.pieces) +
      " " + std::to_string(proved.flow.slices) + " " +
      std::string(Name(proved.parameters.protocol)) + " " + NameOf(proved.parameters.levels);
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

}  // namespace hockney
