#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "topology/check.h"
#include "topology/concat.h"
#include "topology/deadline.h"
#include "topology/peer_links.h"
#include "topology/process_ranks.h"
#include "topology/session_group.h"

namespace hockney {
namespace {

using Bytes = std::vector<std::byte>;
using Links = std::shared_ptr<const std::vector<FileDescriptor>>;

// Ranks that are processes of one host and talk over sockets. All groups of a process share its
// links, which is right because two ranks make the calls they have in common in the same order.
class ProcessGroup : public Session::Group {
 public:
  // members[r] = index in `links` of rank r of this group. Only links between a group's first rank
  // and the others are used.
  ProcessGroup(Links links, std::vector<int> members, int rank, double timeout_seconds)
      : links_(std::move(links)),
        members_(std::move(members)),
        rank_(rank),
        timeout_seconds_(timeout_seconds) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(members_.size()); }
  RankKind kind() const override { return RankKind::kProcesses; }
  double timeout_seconds() const override { return timeout_seconds_; }
  const void* mpi_communicator() const override { return nullptr; }

  void Barrier() override { Exchange({}, "Barrier"); }
  void Broadcast(std::span<std::byte> bytes, int root) override;
  std::vector<Bytes> AllGather(std::span<const std::byte> mine) override {
    return Exchange(mine, "AllGather");
  }
  std::vector<std::shared_ptr<const void>> AllGatherShared(std::shared_ptr<const void>) override {
    throw std::logic_error("AllGatherShared: processes cannot share a pointer");
  }
  std::shared_ptr<Group> Split(int color, int key) override;
  std::shared_ptr<Group> SplitSharedMemory() override { return Split(0, rank_); }

 private:
  std::vector<Bytes> Exchange(std::span<const std::byte> mine, const char* operation);
  void Send(int peer, std::span<const std::byte> bytes, const Deadline& deadline,
            const char* operation) const;
  Bytes Receive(int peer, const Deadline& deadline, const char* operation) const;
  void Require(LinkResult result, int peer, const char* operation) const;

  Links links_;
  std::vector<int> members_;
  int rank_;
  double timeout_seconds_;
};

void ProcessGroup::Require(LinkResult result, int peer, const char* operation) const {
  if (result == LinkResult::kClosed) {
    throw TimeoutError(Concat("rank ", rank_, " lost rank ", peer, " in ", operation));
  }
  if (result == LinkResult::kTimedOut) {
    throw TimeoutError(Concat("rank ", rank_, " waited ", timeout_seconds_, " s in ", operation,
                              " for rank ", peer));
  }
}

// A message is its length and its bytes.
void ProcessGroup::Send(int peer, std::span<const std::byte> bytes, const Deadline& deadline,
                        const char* operation) const {
  const FileDescriptor& link = links_->at(members_[peer]);
  const std::uint64_t length = bytes.size();
  Require(SendAll(link, std::as_bytes(std::span(&length, 1)), deadline), peer, operation);
  Require(SendAll(link, bytes, deadline), peer, operation);
}

Bytes ProcessGroup::Receive(int peer, const Deadline& deadline, const char* operation) const {
  const FileDescriptor& link = links_->at(members_[peer]);
  std::uint64_t length = 0;
  Require(ReceiveAll(link, std::as_writable_bytes(std::span(&length, 1)), deadline), peer,
          operation);
  Bytes bytes(length);
  Require(ReceiveAll(link, bytes, deadline), peer, operation);
  return bytes;
}

// The one primitive: the first rank collects what each passed and gives everything to all.
std::vector<Bytes> ProcessGroup::Exchange(std::span<const std::byte> mine, const char* operation) {
  const Deadline deadline(timeout_seconds_);
  if (rank_ != 0) {
    Send(0, mine, deadline, operation);
    std::vector<Bytes> all;
    all.reserve(members_.size());
    for (int r = 0; r < ranks(); ++r) all.push_back(Receive(0, deadline, operation));
    return all;
  }
  std::vector<Bytes> all{Bytes(mine.begin(), mine.end())};
  for (int r = 1; r < ranks(); ++r) all.push_back(Receive(r, deadline, operation));
  for (int r = 1; r < ranks(); ++r) {
    for (const Bytes& bytes : all) Send(r, bytes, deadline, operation);
  }
  return all;
}

void ProcessGroup::Broadcast(std::span<std::byte> bytes, int root) {
  const auto sent = rank_ == root ? bytes : std::span<std::byte>();
  const std::vector<Bytes> all = Exchange(sent, "Broadcast");
  if (all[root].size() != bytes.size()) {
    throw std::invalid_argument(Concat("Broadcast: rank ", rank_, " passed ", bytes.size(),
                                       " bytes, root ", root, " ", all[root].size()));
  }
  std::copy(all[root].begin(), all[root].end(), bytes.begin());
}

std::shared_ptr<Session::Group> ProcessGroup::Split(int color, int key) {
  const SplitChoice mine{color, key};
  std::vector<SplitChoice> choices;
  for (const Bytes& bytes : Exchange(std::as_bytes(std::span(&mine, 1)), "Split")) {
    std::memcpy(&choices.emplace_back(), bytes.data(), sizeof mine);
  }
  std::vector<int> members;
  int rank = 0;
  for (const int old_rank : FindPart(choices, color)) {
    if (old_rank == rank_) rank = static_cast<int>(members.size());
    members.push_back(members_[old_rank]);
  }
  return std::make_shared<ProcessGroup>(links_, std::move(members), rank, timeout_seconds_);
}

std::vector<int> FirstNumbers(int count) {
  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

}  // namespace

Session MakeProcessSession(std::vector<FileDescriptor> star, int rank, double timeout_seconds) {
  const auto numbers = FirstNumbers(static_cast<int>(star.size()));
  Session bootstrap(std::make_shared<ProcessGroup>(
      std::make_shared<const std::vector<FileDescriptor>>(std::move(star)), numbers, rank,
      timeout_seconds));
  auto links = std::make_shared<const std::vector<FileDescriptor>>(ConnectPeers(bootstrap));
  return Session(std::make_shared<ProcessGroup>(std::move(links), numbers, rank, timeout_seconds));
}

}  // namespace hockney
