#include "topology/peer_links.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "topology/abstract_address.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/deadline.h"
#include "topology/session.h"

namespace hockney {
namespace {

const char* StatusText(ssize_t status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

bool WouldBlock() { return errno == EAGAIN || errno == EINTR; }

std::string RandomName() {
  std::array<unsigned char, 16> nonce{};
  HOCKNEY_CHECK(getrandom(nonce.data(), nonce.size(), 0));
  std::string name = "hockney-";
  for (const unsigned char byte : nonce) name += fmt::format("{:02x}", byte);
  return name;
}

FileDescriptor NewSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  HOCKNEY_CHECK(fd);
  return FileDescriptor(fd);
}

// Other users can see and use abstract names, which have no permissions of their own.
bool IsSameUser(const FileDescriptor& connection) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  HOCKNEY_CHECK(getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes));
  return peer.uid == geteuid();
}

// Ranks connect to all ranks above them and are connected to by all below, all at once, so that no
// order of arrival blocks.
class Meeting {
 public:
  explicit Meeting(Session& session) : session_(session), links_(session.ranks()) {
    std::string name;
    RunOnAllOrThrow(session, [&] {
      RequireOpenFiles(static_cast<std::uint64_t>(session.ranks()));
      listener_ = NewSocket();
      name = RandomName();
      const AbstractAddress address(name);
      HOCKNEY_CHECK(bind(listener_.get(), address.get(), address.bytes));
      HOCKNEY_CHECK(listen(listener_.get(), session.ranks()));
    });
    for (const auto& bytes : session.AllGather(std::as_bytes(std::span(name)))) {
      names_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }

  std::vector<FileDescriptor> Run() {
    const Deadline deadline(session_.timeout_seconds());
    int next = session_.rank() + 1;
    int missing = session_.rank();  // of the ranks below
    while (next < session_.ranks() || missing > 0) {
      const bool connected = next < session_.ranks() && Connect(next);
      if (connected) ++next;
      const bool accepted = missing > 0 && Accept();
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
  bool Accept();
  bool Greet();
  void Sleep(const Deadline& deadline) const;
  [[noreturn]] void ThrowTimeout() const;

  Session& session_;
  std::vector<FileDescriptor> links_;
  std::vector<std::string> names_;
  FileDescriptor listener_;
  std::vector<FileDescriptor> strangers_;  // whose rank has not come yet
};

// Returns whether `peer` took the connection; false if it must be tried again.
bool Meeting::Connect(int peer) {
  FileDescriptor connection = NewSocket();
  const AbstractAddress address(names_[peer]);
  if (connect(connection.get(), address.get(), address.bytes) == -1) {
    if (WouldBlock()) return false;  // its queue is full
    if (errno == ECONNREFUSED) {
      throw TimeoutError(fmt::format(
          "rank {} finds rank {} gone while connecting, or in another network name space",
          session_.rank(), peer));
    }
    HOCKNEY_CHECK(-1);
  }
  if (!IsSameUser(connection)) {
    throw EnvironmentError(
        fmt::format("rank {} runs as another user than rank {}", peer, session_.rank()));
  }
  const std::int32_t mine = session_.rank();
  // Into an empty socket, so it fits.
  HOCKNEY_CHECK(send(connection.get(), &mine, sizeof mine, MSG_NOSIGNAL));
  links_[peer] = std::move(connection);
  return true;
}

bool Meeting::Accept() {
  FileDescriptor connection(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.valid() && (WouldBlock() || errno == ECONNABORTED)) return false;
  HOCKNEY_CHECK(connection.get());
  if (IsSameUser(connection)) strangers_.push_back(std::move(connection));
  return true;
}

// Returns whether one more rank said who it is.
bool Meeting::Greet() {
  for (std::size_t i = 0; i < strangers_.size(); ++i) {
    std::int32_t rank = -1;
    const ssize_t bytes = recv(strangers_[i].get(), &rank, sizeof rank, 0);
    if (bytes == -1 && WouldBlock()) continue;
    FileDescriptor connection = std::move(strangers_[i]);
    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    const bool known = bytes == sizeof rank && rank >= 0 && rank < session_.rank();
    if (!known || links_[rank].valid()) return false;  // not one of us: closed, not counted
    links_[rank] = std::move(connection);
    return true;
  }
  return false;
}

void Meeting::ThrowTimeout() const {
  std::string missing;
  for (int rank = 0; rank < session_.ranks(); ++rank) {
    if (rank != session_.rank() && !links_[rank].valid()) missing += fmt::format(" {}", rank);
  }
  throw TimeoutError(fmt::format("rank {} waited {} s for a connection with rank{}",
                                 session_.rank(), session_.timeout_seconds(), missing));
}

// Returns when something may have changed. A full queue of a peer shows in no poll, hence 10 ms at
// most.
void Meeting::Sleep(const Deadline& deadline) const {
  std::vector<pollfd> waits{{listener_.get(), POLLIN, 0}};
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

std::vector<FileDescriptor> ConnectPeers(Session& session) { return Meeting(session).Run(); }

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
