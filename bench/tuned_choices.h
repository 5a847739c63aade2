#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/competitors.h"
#include "topology/session.h"
#include "tuner/select/tuning.h"

namespace hockney {

// How rows of `hockney sweep --tuned` are marked in `requested_algorithm`: this, and what the file
// asks for.
inline constexpr std::string_view kTunedMark = "tuned:";

// Reads tuning.json on rank 0 and hands it to all ranks, so that all follow the same rules. Throws
// Agreed<InputError> (ReadTuning). Collective.
std::shared_ptr<const Tuning> ShareTuning(Session& session, const std::string& path);

// Throws Agreed<UsageError> where the file has rules of a collective, but none for these ranks and
// nodes, and where it has none of any collective that is measured.
void CheckTuned(const SweepOptions& options, int ranks, int nodes);

// The most data lanes that a rule of hockney's asks for; 0 without rules.
int MostTunedLanes(const SweepOptions& options);

// The rule for a row that would be measured (StartRow), or null. Collective, ranks, nodes and kind
// of memory must be the table's; of several tables the one that is nearest in type (the same, then
// one of as many bytes), then operator, then placement, then mode.
const TuningRule* FindTuned(const Tuning& tuning, const SweepRow& row);

// Marks the competitor that the file chooses for the cell, and adds it if nobody asked for it. What
// cannot run here gives way to the first of ring, pairwise and naive_root that can; the row then
// says so in `reason`. Nothing happens without a rule. Collective.
void AddTuned(const SweepContext& context, const Cell& cell, std::span<const BufferSet> sets,
              std::vector<Competitor>& competitors);

}  // namespace hockney
