#include "tuner/select/fixed_table.h"

#include <array>
#include <limits>
#include <string_view>

namespace hockney {
namespace {

// What a size up to `most_bytes` gets; the second algorithm where the first is not there.
struct FixedRow {
  Collective collective = Collective::kAllReduce;
  std::uint64_t most_bytes = 0;
  std::string_view algorithm = {};
  std::string_view other = {};
};

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

// all_reduce: Open MPI 4.0's table (reference 0.1). The others: the classic thresholds of MPICH
// (reference 1.7, and the defaults of its MPIR_CVAR_*_MSG_SIZE variables) with the algorithm here
// that is nearest to theirs.
constexpr std::array kFixedRows = {
    FixedRow{Collective::kAllReduce, 9'999, "recursive_doubling", "ring"},
    FixedRow{Collective::kAllReduce, kNoEnd, "ring", "recursive_doubling"},
    FixedRow{Collective::kReduceScatter, 524'287, "halving_doubling", "pairwise"},
    FixedRow{Collective::kReduceScatter, kNoEnd, "pairwise", "ring"},
    FixedRow{Collective::kAllGather, 524'287, "recursive_doubling", "bruck"},
    FixedRow{Collective::kAllGather, kNoEnd, "ring", "recursive_doubling"},
    FixedRow{Collective::kAllToAll, 256, "bruck", "pairwise"},
    FixedRow{Collective::kAllToAll, kNoEnd, "pairwise", "direct"},
    FixedRow{Collective::kBroadcast, 12'288, "double_binary_tree", "ring"},
    FixedRow{Collective::kBroadcast, kNoEnd, "ring", "double_binary_tree"},
    FixedRow{Collective::kReduce, 2'048, "double_binary_tree", "ring"},
    FixedRow{Collective::kReduce, kNoEnd, "ring", "double_binary_tree"},
};

}  // namespace

std::optional<Choice> PlainChoice(const CellTimes& cell, std::string_view algorithm) {
  std::optional<Choice> plain;
  for (const auto& [choice, launches] : cell) {
    if (choice.implementation != "hockney" || choice.algorithm != algorithm) continue;
    if (!plain || IsSimpler(choice, *plain)) plain = choice;
  }
  return plain;
}

std::optional<Choice> FixedChoice(Collective collective, std::uint64_t bytes,
                                  const CellTimes& cell) {
  for (const FixedRow& row : kFixedRows) {
    if (row.collective != collective || bytes > row.most_bytes) continue;
    const auto first = PlainChoice(cell, row.algorithm);
    return first ? first : PlainChoice(cell, row.other);
  }
  return std::nullopt;
}

}  // namespace hockney
