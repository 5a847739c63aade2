#include "topology/peer_links.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "topology/agree.h"
#include "topology/check.h"
#include "topology/concat.h"
#include "topology/deadline.h"
#include "topology/peer_door.h"
#include "topology/session.h"

namespace hockney {
namespace {

const char* StatusText(ssize_t status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

bool WouldBlock() { return errno == EAGAIN || errno == EINTR; }

// What one rank says to another that it has connected to.
struct Greeting {
  std::array<std::byte, 16> secret{};
  std::int32_t rank = -1;
};

std::array<std::byte, 16> AgreeSecret(Session& session) {
  std::array<std::byte, 16> secret{};
  HOCKNEY_CHECK(getrandom(secret.data(), secret.size(), 0));
  session.Broadcast(secret, 0);
  return secret;
}

// Ranks connect to all ranks above them and are connected to by all below, all at once, so that no
// order of arrival blocks.
class Meeting {
 public:
  // `doors` lead to all ranks together, door_of[r] to rank r.
  Meeting(Session& session, std::vector<PeerDoor*> doors, std::vector<PeerDoor*> door_of)
      : session_(session),
        doors_(std::move(doors)),
        door_of_(std::move(door_of)),
        mine_{AgreeSecret(session), session.rank()},
        links_(session.ranks()) {}

  std::vector<FileDescriptor> Run() {
    const Deadline deadline(session_.timeout_seconds());
    int next = session_.rank() + 1;
    int missing = session_.rank();  // of the ranks below
    while (next < session_.ranks() || missing > 0) {
      const bool connected = next < session_.ranks() && Connect(next);
      if (connected) ++next;
      bool accepted = false;
      for (PeerDoor* door : doors_) accepted = Accept(*door) || accepted;
      const bool greeted = missing > 0 && Greet();
      if (greeted) --missing;
      if (connected || accepted || greeted) continue;
      if (deadline.passed()) ThrowTimeout();
      Sleep(deadline);
    }
    return std::move(links_);
  }

 private:
  bool Connect(int peer);
  bool Accept(const PeerDoor& door);
  bool Greet();
  void Sleep(const Deadline& deadline) const;
  [[noreturn]] void ThrowTimeout() const;

  Session& session_;
  std::vector<PeerDoor*> doors_;
  std::vector<PeerDoor*> door_of_;
  Greeting mine_;
  std::vector<FileDescriptor> links_;
  std::vector<FileDescriptor> strangers_;  // whose rank has not come yet
};

// Returns whether `peer` took the connection; false if it must be tried again.
bool Meeting::Connect(int peer) {
  FileDescriptor connection = door_of_[peer]->Connect(peer);
  if (!connection.valid()) return false;
  // Into an empty socket, so it fits.
  HOCKNEY_CHECK(send(connection.get(), &mine_, sizeof mine_, MSG_NOSIGNAL));
  links_[peer] = std::move(connection);
  return true;
}

bool Meeting::Accept(const PeerDoor& door) {
  FileDescriptor connection(
      accept4(door.listener().get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.valid() && (WouldBlock() || errno == ECONNABORTED)) return false;
  HOCKNEY_CHECK(connection.get());
  if (door.Admits(connection)) strangers_.push_back(std::move(connection));
  return true;
}

// Returns whether one more rank said who it is.
bool Meeting::Greet() {
  for (std::size_t i = 0; i < strangers_.size(); ++i) {
    Greeting theirs;
    const ssize_t there = recv(strangers_[i].get(), &theirs, sizeof theirs, MSG_PEEK);
    if ((there == -1 && WouldBlock()) || (there > 0 && there < ssize_t{sizeof theirs})) continue;
    FileDescriptor connection = std::move(strangers_[i]);
    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    const int rank = theirs.rank;
    const bool known = there == ssize_t{sizeof theirs} && theirs.secret == mine_.secret &&
                       rank >= 0 && rank < session_.rank();
    if (!known || links_[rank].valid()) return false;  // not one of us: closed, not counted
    HOCKNEY_CHECK(recv(connection.get(), &theirs, sizeof theirs, 0));
    links_[rank] = std::move(connection);
    return true;
  }
  return false;
}

void Meeting::ThrowTimeout() const {
  std::string missing;
  std::string way;
  for (int rank = 0; rank < session_.ranks(); ++rank) {
    if (rank == session_.rank() || links_[rank].valid()) continue;
    if (missing.empty()) way = door_of_[rank]->WayTo(rank);
    missing += Concat(" ", rank);
  }
  throw TimeoutError(Concat("rank ", session_.rank(), " waited ", session_.timeout_seconds(),
                            " s for a connection with rank", missing, way,
                            way.empty() ? "" : "; --iface chooses another"));
}

// Returns when something may have changed. A full queue of a peer shows in no poll, hence 10 ms at
// most.
void Meeting::Sleep(const Deadline& deadline) const {
  std::vector<pollfd> waits;
  for (const PeerDoor* door : doors_) waits.push_back({door->listener().get(), POLLIN, 0});
  for (const FileDescriptor& stranger : strangers_) waits.push_back({stranger.get(), POLLIN, 0});
  if (poll(waits.data(), waits.size(), deadline.PollMilliseconds(10)) == -1 && errno != EINTR) {
    HOCKNEY_CHECK(-1);
  }
}

// Moves all of `size` bytes by calls of `step(at)`, which returns as send(2) and recv(2) do.
template <class Step>
LinkResult Transfer(const FileDescriptor& link, std::size_t size, short event,
                    const Deadline& deadline, Step step) {
  std::size_t at = 0;
  while (at < size) {
    const ssize_t moved = step(at);
    if (moved > 0) {
      at += static_cast<std::size_t>(moved);
      continue;
    }
    if (moved == 0 || errno == ECONNRESET || errno == EPIPE) return LinkResult::kClosed;
    if (!WouldBlock()) HOCKNEY_CHECK(moved);
    if (deadline.passed()) return LinkResult::kTimedOut;
    pollfd wait{link.get(), event, 0};
    if (poll(&wait, 1, deadline.PollMilliseconds(1000)) == -1 && errno != EINTR) HOCKNEY_CHECK(-1);
  }
  return LinkResult::kDone;
}

}  // namespace

std::vector<FileDescriptor> ConnectPeers(Session& session) {
  RunOnAllOrThrow(session, [&] { RequireOpenFiles(static_cast<std::uint64_t>(session.ranks())); });
  UnixDoor door(session);
  return Meeting(session, {&door}, std::vector<PeerDoor*>(session.ranks(), &door)).Run();
}

std::vector<FileDescriptor> ConnectHosts(Session& session, Session& local,
                                         const std::string& interfaces) {
  if (local.ranks() == session.ranks()) return ConnectPeers(session);
  RunOnAllOrThrow(session, [&] { RequireOpenFiles(static_cast<std::uint64_t>(session.ranks())); });
  const std::vector<int> first_ranks = FirstRanksOfHosts(session, local);
  UnixDoor near(session);
  TcpDoor far(session, first_ranks, interfaces);
  std::vector<PeerDoor*> door_of;
  for (const int first : first_ranks) {
    const bool is_near = first == first_ranks[session.rank()];
    door_of.push_back(is_near ? static_cast<PeerDoor*>(&near) : &far);
  }
  return Meeting(session, {&near, &far}, std::move(door_of)).Run();
}

std::vector<int> FirstRanksOfHosts(Session& session, Session& local) {
  int first = session.rank();
  local.Broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
  std::vector<int> firsts;
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(&first, 1)))) {
    std::memcpy(&firsts.emplace_back(), bytes.data(), sizeof first);
  }
  return firsts;
}

LinkResult SendAll(const FileDescriptor& link, std::span<const std::byte> bytes,
                   const Deadline& deadline) {
  return Transfer(link, bytes.size(), POLLOUT, deadline, [&](std::size_t at) {
    return send(link.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
  });
}

LinkResult ReceiveAll(const FileDescriptor& link, std::span<std::byte> bytes,
                      const Deadline& deadline) {
  return Transfer(link, bytes.size(), POLLIN, deadline, [&](std::size_t at) {
    return recv(link.get(), bytes.data() + at, bytes.size() - at, 0);
  });
}

}  // namespace hockney
