#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "topology/abstract_address.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/concat.h"
#include "topology/peer_door.h"
#include "topology/session.h"

namespace hockney {
namespace {

const char* StatusText(ssize_t status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

std::string RandomName() {
  std::array<unsigned char, 16> nonce{};
  HOCKNEY_CHECK(getrandom(nonce.data(), nonce.size(), 0));
  std::string name = "hockney-";
  for (const unsigned char byte : nonce) {
    name += "0123456789abcdef"[byte / 16];
    name += "0123456789abcdef"[byte % 16];
  }
  return name;
}

FileDescriptor NewSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  HOCKNEY_CHECK(fd);
  return FileDescriptor(fd);
}

}  // namespace

UnixDoor::UnixDoor(Session& session) : rank_(session.rank()) {
  std::string name;
  RunOnAllOrThrow(session, [&] {
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

FileDescriptor UnixDoor::Connect(int peer) {
  FileDescriptor connection = NewSocket();
  const AbstractAddress address(names_[peer]);
  if (connect(connection.get(), address.get(), address.bytes) == -1) {
    if (errno == EAGAIN || errno == EINTR) return {};  // its queue is full
    if (errno == ECONNREFUSED) {
      throw TimeoutError(Concat("rank ", rank_, " finds rank ", peer,
                                " gone while connecting, or in another network name space"));
    }
    HOCKNEY_CHECK(-1);
  }
  if (!Admits(connection)) {
    throw EnvironmentError(Concat("rank ", peer, " runs as another user than rank ", rank_));
  }
  return connection;
}

// Other users can see and use abstract names, which have no permissions of their own.
bool UnixDoor::Admits(const FileDescriptor& connection) const {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  HOCKNEY_CHECK(getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes));
  return peer.uid == geteuid();
}

}  // namespace hockney
