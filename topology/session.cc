#include "topology/session.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "topology/concat.h"
#include "topology/session_group.h"

namespace hockney {

Session::Session(std::shared_ptr<Group> group) : group_(std::move(group)) {}

int Session::rank() const { return group_->rank(); }
int Session::ranks() const { return group_->ranks(); }
RankKind Session::kind() const { return group_->kind(); }
double Session::timeout_seconds() const { return group_->timeout_seconds(); }
bool Session::peer_failed() const { return group_->peer_failed(); }
const void* Session::mpi_communicator() const { return group_->mpi_communicator(); }

void Session::Barrier() { group_->Barrier(); }

void Session::Broadcast(std::span<std::byte> bytes, int root) {
  if (root < 0 || root >= ranks()) {
    throw std::invalid_argument(Concat("Broadcast: root ", root, " of ", ranks(), " ranks"));
  }
  if (bytes.size() > Group::kMaxBytes) {
    throw std::invalid_argument(
        Concat("Broadcast: ", bytes.size(), " bytes, at most ", Group::kMaxBytes, " fit"));
  }
  group_->Broadcast(bytes, root);
}

std::vector<std::vector<std::byte>> Session::AllGather(std::span<const std::byte> mine) {
  return group_->AllGather(mine);
}

std::vector<std::shared_ptr<const void>> Session::AllGatherShared(
    std::shared_ptr<const void> mine) {
  return group_->AllGatherShared(std::move(mine));
}

Session Session::Split(int color, int key) {
  if (color < 0) throw std::invalid_argument(Concat("Split: color ", color, " is negative"));
  return Session(group_->Split(color, key));
}

Session Session::SplitSharedMemory() { return Session(group_->SplitSharedMemory()); }

std::vector<int> FindPart(std::span<const SplitChoice> all, int color) {
  std::vector<int> part;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].color == color) part.push_back(static_cast<int>(r));
  }
  std::stable_sort(part.begin(), part.end(), [&](int a, int b) { return all[a].key < all[b].key; });
  return part;
}

}  // namespace hockney
