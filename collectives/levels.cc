#include "collectives/levels.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <stdexcept>

namespace hockney {
namespace {

// What the levels below the top do for a collective, on the way up and on the way down.
std::vector<Collective> LowerParts(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return {Collective::kReduceScatter, Collective::kAllGather};
    case Collective::kBroadcast:
      return {Collective::kScatter, Collective::kAllGather};
    case Collective::kReduce:
      return {Collective::kReduceScatter, Collective::kGather};
    default:
      return {collective};
  }
}

// A block that naive_root's all-to-all passes on is a message of one chunk there, of several here.
bool PassesUnopened(const Algorithm& row) {
  return row.collective == Collective::kAllToAll && row.name == "naive_root";
}

std::string WhyUnfitPart(Collective part, std::string_view name, bool in_node, Protocol protocol) {
  const Algorithm* row = FindPart(part, name);
  const std::string what = std::string(name) + " for the " + std::string(Name(part)) +
                           (in_node ? " inside nodes" : " between nodes");
  if (row == nullptr || row->name == kHierarchical) return what + ": there is no such algorithm";
  if (row->simple_uses_peer_memory && !in_node) {
    return what + ": it works in peers' memory, which ends at the node";
  }
  if (PassesUnopened(*row)) return what + ": its messages of several blocks are passed on unopened";
  if (protocol == Protocol::kLl && !row->has_ll) return what + ": it has no protocol ll";
  return "";
}

bool IsKnown(std::string_view name) {
  const auto rows = AllAlgorithms();
  return name != kHierarchical &&
         std::any_of(rows.begin(), rows.end(), [&](const Algorithm& r) { return r.name == name; });
}

// The table's own text, which lives on.
std::string_view FindName(std::string_view name) {
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.name == name) return row.name;
  }
  return {};
}

// The names to try on top, by collective; the first are for long vectors.
std::span<const std::string_view> UsualInter(Collective collective) {
  static constexpr std::array<std::string_view, 4> kAllReduce = {
      "ring", "halving_doubling", "double_binary_tree", "recursive_doubling"};
  static constexpr std::array<std::string_view, 3> kReduceScatter = {"ring", "halving_doubling",
                                                                     "pairwise"};
  static constexpr std::array<std::string_view, 3> kAllGather = {"ring", "recursive_doubling",
                                                                 "bruck"};
  static constexpr std::array<std::string_view, 2> kAllToAll = {"pairwise", "bruck"};
  static constexpr std::array<std::string_view, 2> kRooted = {"ring", "double_binary_tree"};
  switch (collective) {
    case Collective::kAllReduce:
      return kAllReduce;
    case Collective::kReduceScatter:
      return kReduceScatter;
    case Collective::kAllGather:
      return kAllGather;
    case Collective::kAllToAll:
      return kAllToAll;
    case Collective::kBroadcast:
    case Collective::kReduce:
      return kRooted;
    default:
      return {};
  }
}

bool HasRacks(const RankPlacement* placement) {
  return placement != nullptr && NodesByRack(*placement).size() > 1;
}

template <class List>
bool AllEqual(const List& lists) {
  return std::all_of(lists.begin(), lists.end(),
                     [&](const auto& list) { return list.size() == lists[0].size(); });
}

}  // namespace

const Algorithm* FindPart(Collective part, std::string_view name) {
  if (part == Collective::kScatter || part == Collective::kGather) {
    const Algorithm* direct = FindPart(Collective::kAllGather, name);
    return FindAlgorithm(part,
                         direct != nullptr && direct->name == "direct" ? "direct" : "naive_root");
  }
  const bool half = part == Collective::kReduceScatter || part == Collective::kAllGather;
  if (half && (name == "one_shot" || name == "two_shot")) name = "direct";
  if (part == Collective::kAllGather && name == "halving_doubling") name = "recursive_doubling";
  return FindAlgorithm(part, name);
}

bool HasLevels(std::string_view text) {
  return text.starts_with(kHierarchical) && text.size() > kHierarchical.size() &&
         text[kHierarchical.size()] == '(';
}

std::string NameOf(const Levels& levels) {
  std::string text = std::string(kHierarchical) + "(" + std::string(levels.intra);
  if (!levels.rack.empty()) text += "," + std::string(levels.rack);
  return text + "," + std::string(levels.inter) + ")";
}

std::string ParametersOf(const Levels& levels) {
  std::string text = "inter=" + std::string(levels.inter) + ";intra=" + std::string(levels.intra);
  if (!levels.rack.empty()) text += ";rack=" + std::string(levels.rack);
  return text;
}

Levels ParseLevels(std::string_view text) {
  const std::string expected = "\"" + std::string(text) +
                               "\": expected hierarchical(intra,inter) or " +
                               "hierarchical(intra,rack,inter), of algorithms by name";
  if (!HasLevels(text) || !text.ends_with(')')) throw std::invalid_argument(expected);
  std::string_view rest = text.substr(kHierarchical.size() + 1);
  rest.remove_suffix(1);
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t end = std::min(rest.find(',', at), rest.size());
    const std::string_view name = rest.substr(at, end - at);
    if (!IsKnown(name)) {
      throw std::invalid_argument(expected + "; there is no algorithm \"" + std::string(name) +
                                  "\"");
    }
    names.push_back(FindName(name));
    at = end + 1;
  }
  if (names.size() == 2) return {.intra = names[0], .rack = {}, .inter = names[1]};
  if (names.size() == 3) return {.intra = names[0], .rack = names[1], .inter = names[2]};
  throw std::invalid_argument(expected);
}

std::string WhyUnfit(Collective collective, const Levels& levels, Protocol protocol) {
  if (FindAlgorithm(collective, kHierarchical) == nullptr) {
    return std::string(Name(collective)) + " has no hierarchical form";
  }
  if (collective == Collective::kAllToAll && !levels.rack.empty()) {
    return "all_to_all has two levels, expected hierarchical(intra,inter)";
  }
  for (const Collective part : LowerParts(collective)) {
    std::string reason = WhyUnfitPart(part, levels.intra, true, protocol);
    if (reason.empty() && !levels.rack.empty()) {
      reason = WhyUnfitPart(part, levels.rack, false, protocol);
    }
    if (!reason.empty()) return reason;
  }
  return WhyUnfitPart(collective, levels.inter, false, protocol);
}

std::string WhyNotHierarchical(Collective collective, const Parameters& parameters) {
  const Levels& levels = parameters.levels;
  if (levels != Levels{}) {
    std::string reason = WhyUnfit(collective, levels, parameters.protocol);
    if (!reason.empty()) return reason;
  }
  if (parameters.placement == nullptr) return "all ranks are on one node";
  const auto nodes = RanksByNode(*parameters.placement);
  if (nodes.size() < 2) return "all ranks are on one node";
  if (collective == Collective::kAllToAll && !AllEqual(nodes) &&
      RanksByNode(EqualNodes(*parameters.placement))[0].size() == 1) {
    return "nodes of unlike numbers of ranks with no common divisor: all_to_all would be the flat "
           "algorithm";
  }
  if (levels.rack.empty()) return "";
  const auto racks = NodesByRack(*parameters.placement);
  if (racks.size() < 2) return "one rack, or racks unknown: there is no level between node and top";
  if (!AllEqual(racks)) return "a rack level needs as many nodes in each rack";
  return "";
}

std::vector<Levels> UsualLevels(Collective collective, Protocol protocol,
                                const RankPlacement* placement) {
  const bool all_to_all = collective == Collective::kAllToAll;
  const std::string_view messages = all_to_all ? "pairwise" : "ring";
  const auto inter = UsualInter(collective);
  std::vector<Levels> usual;
  for (const std::string_view intra : {messages, std::string_view("direct")}) {
    for (const std::string_view top : inter) usual.push_back({intra, {}, top});
    if (!HasRacks(placement) || all_to_all) continue;
    for (const std::string_view top : inter.first(2)) usual.push_back({intra, messages, top});
  }
  std::erase_if(
      usual, [&](const Levels& levels) { return !WhyUnfit(collective, levels, protocol).empty(); });
  return usual;
}

}  // namespace hockney
