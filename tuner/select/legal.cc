#include "tuner/select/legal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "collectives/flow.h"
#include "collectives/levels.h"
#include "collectives/verify.h"

namespace hockney {
namespace {

constexpr double kProofSeconds = 0.5;
constexpr std::int64_t kMostLanes = 16;  // that --lanes takes
constexpr std::uint64_t kProofCount =
    64;                          // elements a rank: blocks of several chunks, short proofs
constexpr int kProofPieces = 2;  // the loop over pieces repeats

[[noreturn]] void Refuse(std::string_view text, const std::string& expected) {
  throw std::invalid_argument(fmt::format("\"{}\": expected {}", text, expected));
}

std::string NamesOf(Collective collective) {
  std::string names;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective == collective) names += " " + std::string(row.name);
  }
  return names;
}

int ReadSlices(const std::string& text) {
  if (text.empty()) return Parameters{}.slices;
  int slices = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slices);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const int most = FlowLimits{}.slots - 1;
  if (!is_number || slices < 1 || slices > most) {
    Refuse("slices=" + text, fmt::format("1 to {} slices", most));
  }
  return slices;
}

Protocol ReadProtocol(const Algorithm& row, const std::string& text) {
  if (text == "simple") return Protocol::kSimple;
  if (text != "ll") Refuse(text, "protocol simple or ll");
  if (!row.has_ll) Refuse(text, fmt::format("simple, the one protocol of {}", row.name));
  return Protocol::kLl;
}

// Why the verifier refuses the program, or "".
std::string Prove(const NamedAlgorithm& named, std::int64_t ranks, const RankPlacement& placement) {
  const Shape shape{named.row->collective, static_cast<int>(ranks), 0};
  Parameters parameters = named.parameters;
  parameters.placement = &placement;
  parameters.pieces = named.row->uses_pieces ? kProofPieces : 1;
  const Counts counts = EvenCounts(shape, kProofCount);
  const Layout layout(counts, DataType::kFloat32, named.row->build(shape, 0, parameters).cut);
  const Verdict verdict =
      VerifyAlgorithm(*named.row, layout, parameters, {.slices = parameters.slices}, kProofSeconds);
  if (!verdict.fault) return "";
  return fmt::format("{}: {}", Name(verdict.fault->kind), verdict.fault->text);
}

}  // namespace

std::string WhyNotPlaced(const Algorithm& row, const Parameters& parameters) {
  if (row.name == kHierarchical) return WhyNotHierarchical(row.collective, parameters);
  const bool peers = row.simple_uses_peer_memory && parameters.protocol == Protocol::kSimple;
  if (!peers || parameters.placement == nullptr) return "";
  return RanksByNode(*parameters.placement).size() < 2
             ? ""
             : "it works in peers' memory, which ends at the node";
}

NamedAlgorithm FindNamed(Collective collective, const Choice& choice) {
  if (choice.implementation != "hockney") Refuse(choice.implementation, "hockney");
  NamedAlgorithm named;
  const bool has_levels = HasLevels(choice.algorithm);
  named.row = FindAlgorithm(collective, has_levels ? kHierarchical : choice.algorithm);
  if (named.row == nullptr || (!has_levels && choice.algorithm == kHierarchical)) {
    Refuse(choice.algorithm,
           fmt::format("an algorithm of {}, hierarchical with its levels in brackets:{}",
                       Name(collective), NamesOf(collective)));
  }
  named.parameters.protocol = ReadProtocol(*named.row, choice.protocol);
  if (has_levels) {
    named.parameters.levels = ParseLevels(choice.algorithm);
    const std::string reason =
        WhyUnfit(collective, named.parameters.levels, named.parameters.protocol);
    if (!reason.empty()) Refuse(choice.algorithm, "levels that fit: " + reason);
  }
  const std::int64_t lanes = choice.lanes.value_or(1);
  if (lanes < 1 || lanes > kMostLanes) {
    Refuse(std::to_string(lanes), fmt::format("1 to {} lanes", kMostLanes));
  }
  named.parameters.lanes = static_cast<int>(lanes);
  named.parameters.slices = ReadSlices(FindParameter(choice.parameters, "slices"));
  const std::string store = FindParameter(choice.parameters, "store");
  if (!store.empty() && store != "cached" && store != "non_temporal") {
    Refuse("store=" + store, "store=cached or store=non_temporal");
  }
  named.non_temporal = store == "non_temporal";
  return named;
}

RankPlacement BlockPlacement(std::int64_t ranks, std::int64_t nodes) {
  RankPlacement placement;
  placement.node_of_rank.reserve(static_cast<std::size_t>(ranks));
  for (std::int64_t node = 0; node < nodes; ++node) {
    const std::int64_t here = ranks / nodes + (node < ranks % nodes ? 1 : 0);
    placement.node_of_rank.insert(placement.node_of_rank.end(), static_cast<std::size_t>(here),
                                  static_cast<int>(node));
  }
  return placement;
}

std::string Legality::WhyNot(Collective collective, const Choice& choice, std::int64_t ranks,
                             std::int64_t nodes) {
  if (choice.implementation != "hockney") return "";
  const auto [place, is_new] = known_.try_emplace({collective, choice, ranks, nodes}, "");
  std::string& reason = place->second;
  if (!is_new) return reason;
  try {
    NamedAlgorithm named = FindNamed(collective, choice);
    const RankPlacement placement = BlockPlacement(ranks, nodes);
    named.parameters.placement = nodes > 1 ? &placement : nullptr;
    reason = WhyNotPlaced(*named.row, named.parameters);
    if (!reason.empty()) return reason;
    // Fewer nodes of as many ranks, and fewer ranks only where two such nodes are too many.
    std::int64_t proved_nodes = nodes;
    std::int64_t proved_ranks = ranks;
    if (ranks > kMostProvedRanks) {
      reduced_ = true;
      const std::int64_t a_node = ranks / nodes;
      proved_nodes = nodes == 1 ? 1 : std::clamp<std::int64_t>(kMostProvedRanks / a_node, 2, nodes);
      proved_ranks = std::min(proved_nodes * a_node, kMostProvedRanks);
    }
    reason = Prove(named, proved_ranks, BlockPlacement(proved_ranks, proved_nodes));
  } catch (const std::invalid_argument& error) {
    reason = error.what();
  }
  return reason;
}

}  // namespace hockney
