#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <sstream>

#include "topology/agree.h"
#include "topology/check.h"
#include "topology/concat.h"
#include "topology/peer_door.h"
#include "topology/session.h"

namespace hockney {
namespace {

constexpr double kAttemptSeconds = 2;  // for one address
constexpr double kPauseSeconds = 0.2;  // after one that was refused
// A link without data is probed after 2 s, then every second; the eighth probe without an answer
// ends it. Fewer could all be lost on a link that a measurement keeps full.
constexpr int kIdleSeconds = 2;
constexpr int kProbeSeconds = 1;
constexpr int kProbes = 8;

const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

FileDescriptor NewSocket() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  HOCKNEY_CHECK(fd);
  return FileDescriptor(fd);
}

void SetOption(const FileDescriptor& link, int level, int name, int value) {
  HOCKNEY_CHECK(setsockopt(link.get(), level, name, &value, sizeof value));
}

// Set on a listener they hold for what it accepts.
void SetLinkOptions(const FileDescriptor& link) {
  SetOption(link, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(link, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(link, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  SetOption(link, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  SetOption(link, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  SetOption(link, IPPROTO_TCP, TCP_USER_TIMEOUT, (kIdleSeconds + kProbes * kProbeSeconds) * 1000);
}

}  // namespace

TcpDoor::TcpDoor(Session& session, const std::vector<int>& first_ranks,
                 const std::string& interfaces)
    : rank_(session.rank()) {
  std::string told;
  RunOnAllOrThrow(session, [&] {
    Listen(session);
    sockaddr_in6 bound{};
    socklen_t bytes = sizeof bound;
    HOCKNEY_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &bytes));
    told = Concat(ntohs(bound.sin6_port), "\n", Serialize(ListAddresses()));
  });
  std::vector<std::vector<NetworkAddress>> by_host;
  std::vector<int> host_of(session.ranks());
  for (const auto& from : session.AllGather(std::as_bytes(std::span(told)))) {
    std::istringstream text(std::string(reinterpret_cast<const char*>(from.data()), from.size()));
    int port = 0;
    text >> port;
    text.get();
    const int rank = static_cast<int>(ports_.size());
    ports_.push_back(port);
    host_of[rank] = static_cast<int>(by_host.size());
    if (first_ranks[rank] != rank) {
      host_of[rank] = host_of[first_ranks[rank]];
      continue;
    }
    by_host.push_back(ParseAddresses(std::string(std::istreambuf_iterator<char>(text), {})));
  }
  std::string chosen;
  RunOnAllOrThrow(session, [&] {
    addresses_ = ChooseAddresses(by_host, host_of[rank_], interfaces);
    chosen = Serialize(addresses_);
  });
  for (const auto& from : session.AllGather(std::as_bytes(std::span(chosen)))) {
    const std::string text(reinterpret_cast<const char*>(from.data()), from.size());
    theirs_.push_back(NearestFirst(ParseAddresses(text), addresses_));
  }
}

// On all addresses, because which ones the others take is not known yet.
void TcpDoor::Listen(Session& session) {
  listener_ = NewSocket();
  SetOption(listener_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  SetLinkOptions(listener_);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  HOCKNEY_CHECK(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any));
  HOCKNEY_CHECK(listen(listener_.get(), session.ranks()));
}

void TcpDoor::StartAttempt(const NetworkAddress& address, int port) {
  attempt_ = NewSocket();
  SetLinkOptions(attempt_);
  const sockaddr_in6 to = address.ForPort(port);
  attempt_until_ = Now() + kAttemptSeconds;
  if (connect(attempt_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == -1 &&
      errno != EINPROGRESS) {
    attempt_ = FileDescriptor();
    attempt_until_ = Now() + kPauseSeconds;
  }
}

std::string TcpDoor::WayTo(int peer) const {
  const NetworkAddress& to = theirs_[peer].front();
  const NetworkAddress from = NearestFirst(addresses_, std::span(&to, 1)).front();
  return Concat(" over ", from.interface, ", from ", from.text, " to ", to.text);
}

FileDescriptor TcpDoor::Connect(int peer) {
  if (!attempt_.valid() && Now() < attempt_until_) return {};
  if (!attempt_.valid()) {
    const std::vector<NetworkAddress>& to = theirs_[peer];
    StartAttempt(to[attempts_++ % to.size()], ports_[peer]);
    return {};
  }
  pollfd wait{attempt_.get(), POLLOUT, 0};
  if (poll(&wait, 1, 0) == 0) {
    if (Now() >= attempt_until_) attempt_ = FileDescriptor();
    return {};
  }
  int error = 0;
  socklen_t bytes = sizeof error;
  HOCKNEY_CHECK(getsockopt(attempt_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes));
  FileDescriptor ended = std::move(attempt_);
  attempt_until_ = error == 0 ? 0 : Now() + kPauseSeconds;
  if (error != 0) return {};
  attempts_ = 0;
  return ended;
}

}  // namespace hockney
