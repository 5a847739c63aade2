#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/program.h"

// The levels of the rows `hierarchical`: which rows of the table they may name, and how users write
// them.
namespace hockney {

inline constexpr std::string_view kHierarchical = "hierarchical";

// The most lanes that any program has for a data lane: the double tree between racks, with a lane
// for each of the four phases around it.
inline constexpr int kMostLanesPerDataLane = 8;

// "hierarchical(intra,inter)" or "hierarchical(intra,rack,inter)".
std::string NameOf(const Levels& levels);

// "inter=ring;intra=direct", with ";rack=..." where there is a rack level: for records.
std::string ParametersOf(const Levels& levels);

// Reads NameOf's form, for any collective. Throws std::invalid_argument in one line that says what
// is expected.
Levels ParseLevels(std::string_view text);

// Whether the text means a row of `hierarchical` and its levels.
bool HasLevels(std::string_view text);

// Why the levels do not fit the collective under the protocol, or "".
std::string WhyUnfit(Collective collective, const Levels& levels, Protocol protocol);

// Why `hierarchical` cannot run, or would be the flat algorithm, for these ranks; or "". Empty
// levels are the usual ones.
std::string WhyNotHierarchical(Collective collective, const Parameters& parameters);

// What to try when nobody says: the levels that suit the collective and protocol, those with a rack
// level too where the placement has several racks. The first is what empty levels mean.
std::vector<Levels> UsualLevels(Collective collective, Protocol protocol,
                                const RankPlacement* placement);

// The row that does `part` (a half of an all-reduce, the scatter of a broadcast, ...) of a
// collective for a level that names `name`; null if there is none. all_reduce's peer shapes and
// `direct` all mean direct; a scatter or gather inside a node is direct or from and to the root.
const Algorithm* FindPart(Collective part, std::string_view name);

}  // namespace hockney
