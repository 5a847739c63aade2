#include "collectives/algorithms.h"

#include "collectives/algorithms/families.h"
#include "collectives/algorithms/wire_fractions.h"

namespace hockney {
namespace {

constexpr Algorithm Row(std::string_view name, Collective collective,
                        RankProgram (*build)(const Shape&, int, const Parameters&),
                        double (*wire)(const Shape&, int, const Parameters&)) {
  Algorithm row;
  row.name = name;
  row.collective = collective;
  row.build = build;
  row.wire_fraction = wire;
  return row;
}

// A peer shape under protocol simple; `ll` says whether it can send packets instead.
constexpr Algorithm PeerShape(Algorithm row, bool ll = false) {
  row.simple_uses_peer_memory = true;
  row.has_ll = ll;
  row.uses_pieces = ll;
  return row;
}

constexpr Algorithm EqualBlocks(Algorithm row) {
  row.equal_blocks = true;
  return row;
}

// Tokens only.
constexpr Algorithm NoData(Algorithm row) {
  row.has_ll = false;
  row.uses_pieces = false;
  return row;
}

constexpr auto kAr = Collective::kAllReduce;
constexpr auto kRs = Collective::kReduceScatter;
constexpr auto kAg = Collective::kAllGather;

constexpr Algorithm kTable[] = {
    Row("ring", kAr, RingAllReduce, wire::TwoPasses),
    Row("double_binary_tree", kAr, TreeAllReduce, wire::TreeAllReduce),
    Row("recursive_doubling", kAr, DoublingAllReduce, wire::DoublingAllReduce),
    Row("halving_doubling", kAr, HalvingAllReduce, wire::HalvingAllReduce),
    PeerShape(Row("one_shot", kAr, OneShotAllReduce, wire::OneShot), true),
    PeerShape(Row("two_shot", kAr, TwoShotAllReduce, wire::TwoPasses), true),
    Row("hierarchical", kAr, Hierarchical, wire::Hierarchical),
    Row("naive_root", kAr, NaiveAllReduce, wire::NaiveAllReduce),

    Row("ring", kRs, RingReduceScatter, wire::OnePass),
    Row("halving_doubling", kRs, HalvingReduceScatter, wire::HalvingReduceScatter),
    Row("pairwise", kRs, PairwiseReduceScatter, wire::OnePass),
    Row("pat", kRs, PatReduceScatter, wire::OnePass),
    PeerShape(Row("direct", kRs, DirectReduceScatter, wire::OnePass)),
    Row("hierarchical", kRs, Hierarchical, wire::Hierarchical),
    Row("naive_root", kRs, NaiveReduceScatter, wire::NaiveReduceScatter),

    Row("ring", kAg, RingAllGather, wire::OnePass),
    Row("recursive_doubling", kAg, DoublingAllGather, wire::DoublingAllGather),
    Row("bruck", kAg, BruckAllGather, wire::OnePass),
    Row("pat", kAg, PatAllGather, wire::OnePass),
    PeerShape(Row("direct", kAg, DirectAllGather, wire::OnePass)),
    Row("hierarchical", kAg, Hierarchical, wire::Hierarchical),
    Row("naive_root", kAg, NaiveAllGather, wire::NaiveAllGather),

    EqualBlocks(Row("bruck", Collective::kAllToAll, BruckAllToAll, wire::BruckAllToAll)),
    Row("pairwise", Collective::kAllToAll, PairwiseAllToAll, wire::OnePass),
    PeerShape(Row("direct", Collective::kAllToAll, DirectAllToAll, wire::OnePass)),
    Row("hierarchical", Collective::kAllToAll, Hierarchical, wire::Hierarchical),
    Row("naive_root", Collective::kAllToAll, NaiveAllToAll, wire::NaiveAllToAll),

    Row("pairwise", Collective::kAllToAllV, PairwiseAllToAll, wire::OnePass),
    PeerShape(Row("direct", Collective::kAllToAllV, DirectAllToAll, wire::OnePass)),
    Row("naive_root", Collective::kAllToAllV, NaiveAllToAll, wire::NaiveAllToAll),

    Row("ring", Collective::kBroadcast, RingBroadcast, wire::RingBroadcast),
    Row("double_binary_tree", Collective::kBroadcast, TreeBroadcast, wire::TreeBroadcast),
    PeerShape(Row("direct", Collective::kBroadcast, DirectBroadcast, wire::DirectBroadcast)),
    Row("hierarchical", Collective::kBroadcast, Hierarchical, wire::Hierarchical),
    Row("naive_root", Collective::kBroadcast, NaiveBroadcast, wire::FromRoot),

    Row("ring", Collective::kReduce, RingReduce, wire::ToRoot),
    Row("double_binary_tree", Collective::kReduce, TreeReduce, wire::ToRoot),
    PeerShape(Row("direct", Collective::kReduce, DirectReduce, wire::DirectReduce)),
    Row("hierarchical", Collective::kReduce, Hierarchical, wire::Hierarchical),
    Row("naive_root", Collective::kReduce, NaiveReduce, wire::ToRoot),

    PeerShape(Row("direct", Collective::kGather, DirectGather, wire::OneBlockToRoot)),
    Row("naive_root", Collective::kGather, NaiveGather, wire::OneBlockToRoot),
    PeerShape(Row("direct", Collective::kScatter, DirectScatter, wire::OneBlockToRoot)),
    Row("naive_root", Collective::kScatter, NaiveScatter, wire::BlocksFromRoot),

    NoData(Row("recursive_doubling", Collective::kBarrier, DoublingBarrier, wire::Nothing)),
    NoData(Row("direct", Collective::kBarrier, DirectBarrier, wire::Nothing)),
    NoData(Row("naive_root", Collective::kBarrier, NaiveBarrier, wire::Nothing)),

    Row("ring", Collective::kSendRecv, RingShift, wire::Everything),
    PeerShape(Row("direct", Collective::kSendRecv, DirectShift, wire::Everything)),
    Row("naive_root", Collective::kSendRecv, NaiveShift, wire::NaiveShift),
};

}  // namespace

std::span<const Algorithm> AllAlgorithms() { return kTable; }

const Algorithm* FindAlgorithm(Collective collective, std::string_view name) {
  for (const Algorithm& row : kTable) {
    if (row.collective == collective && row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace hockney
