#include "tuner/simulate/collapse.h"

#include <algorithm>
#include <unordered_map>

#include "tuner/simulate/hash.h"

namespace hockney {
namespace {

// Rounds of refining go on while they tell more ranks apart, up to this share of all ranks alone.
constexpr double kWorthwhileShare = 0.5;

// Numbers colours from 0 in the order of their first rank.
int Renumber(const std::vector<std::uint64_t>& hashes, std::vector<int>& colours) {
  std::unordered_map<std::uint64_t, int> number;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    colours[rank] = number.try_emplace(hashes[rank], static_cast<int>(number.size())).first->second;
  }
  return static_cast<int>(number.size());
}

class Refiner {
 public:
  Refiner(const std::vector<RankCode>& codes, const SimMachine& machine)
      : codes_(codes), placement_(machine.placement), map_(machine, EveryRankAlone(Ranks())) {
    // The port at the other end never changes.
    other_end_.resize(codes.size());
    for (std::size_t rank = 0; rank < codes.size(); ++rank) {
      for (std::size_t lane = 0; lane < codes[rank].ports.size(); ++lane) {
        for (const Port& port : codes[rank].ports[lane].ports()) {
          other_end_[rank].push_back(codes[port.peer].ports[lane].Find(
              {OtherEnd(port.kind), static_cast<std::int32_t>(rank)}));
        }
      }
    }
  }

  std::uint64_t Refine(int rank, const std::vector<int>& colours,
                       const std::vector<std::uint64_t>& nodes,
                       const std::vector<std::uint64_t>& racks) const {
    std::uint64_t hash = MixHash(colours[rank], nodes[placement_.node_of_rank[rank]]);
    if (!racks.empty()) {
      hash = MixHash(hash, racks[placement_.rack_of_node[placement_.node_of_rank[rank]]]);
    }
    std::size_t at = 0;
    for (const LanePorts& lane : codes_[rank].ports) {
      for (const Port& port : lane.ports()) {
        hash = HashPeer(hash, rank, port.peer, colours);
        hash = MixHash(hash, static_cast<std::uint64_t>(other_end_[rank][at++]));
      }
      for (const std::int32_t peer : lane.memory_peers())
        hash = HashPeer(hash, rank, peer, colours);
    }
    return hash;
  }

  // Of each node or rack, what colours it has, in any order.
  std::vector<std::uint64_t> HashPlaces(const std::vector<int>& colours, bool racks) const {
    std::vector<std::uint64_t> sums;
    if (racks && placement_.rack_of_node.empty()) return sums;
    for (std::size_t rank = 0; rank < colours.size(); ++rank) {
      const int node = placement_.node_of_rank[rank];
      const auto place = static_cast<std::size_t>(racks ? placement_.rack_of_node[node] : node);
      if (sums.size() <= place) sums.resize(place + 1);
      sums[place] += MixHash(17, static_cast<std::uint64_t>(colours[rank]));
    }
    return sums;
  }

 private:
  int Ranks() const { return static_cast<int>(codes_.size()); }
  std::uint64_t HashPeer(std::uint64_t hash, int rank, int peer,
                         const std::vector<int>& colours) const {
    if (peer == rank) return MixHash(hash, 99);
    return MixHash(hash, static_cast<std::uint64_t>(colours[peer]) * 4 +
                             static_cast<std::uint64_t>(map_.LevelBetween(rank, peer)));
  }

  const std::vector<RankCode>& codes_;
  const RankPlacement& placement_;
  ResourceMap map_;
  std::vector<std::vector<std::int32_t>> other_end_;
};

}  // namespace

RankClasses CollapseRanks(const std::vector<RankCode>& codes, const SimMachine& machine) {
  const auto ranks = static_cast<int>(codes.size());
  std::vector<std::uint64_t> hashes(ranks);
  for (int rank = 0; rank < ranks; ++rank) hashes[rank] = codes[rank].structure;
  RankClasses classes;
  classes.class_of_rank.resize(ranks);
  const Refiner refiner(codes, machine);
  int count = Renumber(hashes, classes.class_of_rank);
  for (int before = 0; count > before;) {
    if (count > kWorthwhileShare * ranks) return EveryRankAlone(ranks);
    before = count;
    const auto nodes = refiner.HashPlaces(classes.class_of_rank, false);
    const auto racks = refiner.HashPlaces(classes.class_of_rank, true);
    for (int rank = 0; rank < ranks; ++rank) {
      hashes[rank] = refiner.Refine(rank, classes.class_of_rank, nodes, racks);
    }
    count = Renumber(hashes, classes.class_of_rank);
  }
  classes.representative.assign(count, -1);
  for (int rank = 0; rank < ranks; ++rank) {
    int& first = classes.representative[classes.class_of_rank[rank]];
    if (first < 0) first = rank;
  }
  return classes;
}

}  // namespace hockney
