#include "bench/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/options.h"
#include "topology/check.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

// Throws UsageError, in the user's words, where a size exceeds what 64 bits can address.
void CheckFits(const Cell& cell) {
  try {
    const Layout layout(EvenCounts(cell.shape(), cell.count), cell.type, Cut{});
    static_cast<void>(SizeBytes(cell.collective, cell.count, cell.type, cell.ranks));
  } catch (const std::exception&) {
    throw Agreed<UsageError>(fmt::format(
        "--maxbytes (-e) or --count: {} elements a rank: expected buffers below 2^63 bytes",
        cell.count));
  }
}

void AddSizes(const SweepOptions& options, Cell cell, std::vector<Cell>& cells) {
  if (options.count) {
    cell.count = *options.count;
    CheckFits(cell);
    cells.push_back(cell);
    return;
  }
  std::optional<std::uint64_t> before;
  for (const std::uint64_t size : options.sizes) {
    cell.count = CountForSize(cell.collective, size, cell.type, cell.ranks);
    if (cell.count == 0 && size > 0 && !options.keeps_sizes) cell.count = 1;
    if (before == cell.count && !options.keeps_sizes) continue;
    CheckFits(cell);
    before = cell.count;
    cells.push_back(cell);
  }
}

std::vector<int> RootsFor(const SweepOptions& options, Collective collective, int ranks) {
  if (!HasRoot(collective)) return {0};
  std::vector<int> roots;
  for (const int root : options.roots) {
    if (root >= 0) {
      roots.push_back(root);
    } else {
      for (int r = 0; r < ranks; ++r) roots.push_back(r);
    }
  }
  return roots;
}

// Both placements of a size, type, operator and root follow each other.
void PairPlacements(std::vector<Cell>& cells) {
  std::vector<Cell> paired;
  for (const Cell& cell : cells) {
    if (cell.in_place) continue;
    paired.push_back(cell);
    Cell other = cell;
    other.in_place = true;
    if (std::find(cells.begin(), cells.end(), other) != cells.end()) paired.push_back(other);
  }
  cells = std::move(paired);
}

void CheckRoots(const SweepOptions& options, int ranks) {
  for (const int root : options.roots) {
    if (root < ranks) continue;
    throw Agreed<UsageError>(fmt::format("--root (-r): \"{}\": expected a rank of 0..{}{} or -1",
                                         root, ranks - 1,
                                         options.split.empty() ? "" : " in every group"));
  }
}

}  // namespace

std::vector<Cell> MakeCells(const SweepOptions& options, int ranks, int roots) {
  CheckRoots(options, roots);
  std::vector<Cell> cells;
  for (const Collective collective : options.collectives) {
    Cell cell;
    cell.collective = collective;
    cell.ranks = ranks;
    if (collective == Collective::kBarrier) {
      cells.push_back(cell);
      continue;
    }
    const std::vector<ReduceOp> none = {ReduceOp::kSum};
    for (const Placement placement : options.placements) {
      for (const DataType type : options.types) {
        for (const ReduceOp op : Reduces(collective) ? options.ops : none) {
          for (const int root : RootsFor(options, collective, roots)) {
            cell.in_place = placement == Placement::kInPlace;
            cell.type = type;
            cell.op = op;
            cell.root = root;
            AddSizes(options, cell, cells);
          }
        }
      }
    }
  }
  if (options.pairs_placements) PairPlacements(cells);
  return cells;
}

}  // namespace hockney
