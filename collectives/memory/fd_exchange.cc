#include "collectives/memory/fd_exchange.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "topology/agree.h"
#include "topology/check.h"
#include "topology/deadline.h"
#include "topology/session.h"

namespace hockney {
namespace {

const char* StatusText(ssize_t status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

// An abstract name starts with a zero byte and leaves nothing in any file system.
struct Address {
  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t bytes = 0;
};

std::string RandomName() {
  std::array<unsigned char, 16> nonce{};
  HOCKNEY_CHECK(getrandom(nonce.data(), nonce.size(), 0));
  std::string name = "hockney-";
  for (const unsigned char byte : nonce) name += fmt::format("{:02x}", byte);
  return name;
}

FileDescriptor NewSocket() {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

// A message of one byte with room for one descriptor beside it.
struct Message {
  Message() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() = default;

  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

void SendDescriptor(const FileDescriptor& connection, const FileDescriptor& sent) {
  Message message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = sent.get();
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  HOCKNEY_CHECK(sendmsg(connection.get(), &message.header, MSG_NOSIGNAL));
}

// Serves this rank's descriptor and fetches the others' at once, so that no order of arrival
// blocks.
class Exchange {
 public:
  Exchange(Session& session, const FileDescriptor& mine)
      : session_(session), mine_(mine), received_(session.ranks()) {
    std::string name;
    RunOnAllOrThrow(session, [&] {
      listener_ = NewSocket();
      name = RandomName();
      const Address address(name);
      HOCKNEY_CHECK(bind(listener_.get(), address.get(), address.bytes));
      HOCKNEY_CHECK(listen(listener_.get(), session.ranks()));
    });
    for (const auto& bytes : session.AllGather(std::as_bytes(std::span(name)))) {
      names_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }

  std::vector<FileDescriptor> Run() {
    const Deadline deadline(session_.timeout_seconds());
    const int others = session_.ranks() - 1;
    while (served_ < others || fetched_ < others) {
      const bool served = served_ < others && ServeOne();
      const bool fetched = fetched_ < others && FetchStep();
      if (served || fetched) continue;
      if (deadline.passed()) {
        throw TimeoutError(fmt::format(
            "rank {} waited {} s for the memory of rank {} and was asked for its own by {} of {}",
            session_.rank(), session_.timeout_seconds(), peer(), served_, others));
      }
      Sleep(deadline);
    }
    return std::move(received_);
  }

 private:
  // The rank being fetched from; each rank starts at its right neighbour, which spreads the load.
  int peer() const { return (session_.rank() + 1 + fetched_) % session_.ranks(); }
  bool ServeOne();
  bool FetchStep();
  bool Connect();
  void Sleep(const Deadline& deadline) const;

  Session& session_;
  const FileDescriptor& mine_;
  std::vector<FileDescriptor> received_;
  std::vector<std::string> names_;
  FileDescriptor listener_;
  FileDescriptor connection_;  // to peer(), none until it took the connection
  int served_ = 0;
  int fetched_ = 0;
};

// Returns whether somebody was there.
bool Exchange::ServeOne() {
  const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd == -1 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) return false;
  HOCKNEY_CHECK(fd);
  const FileDescriptor connection(fd);
  if (!IsSameUser(connection)) return true;  // a stranger: closed, not counted
  SendDescriptor(connection, mine_);
  ++served_;
  return true;
}

bool Exchange::Connect() {
  FileDescriptor connection = NewSocket();
  const Address address(names_[peer()]);
  if (connect(connection.get(), address.get(), address.bytes) == -1) {
    if (errno == EAGAIN || errno == EINTR) return false;  // its queue is full: try again
    if (errno == ECONNREFUSED) {
      throw TimeoutError(
          fmt::format("rank {} finds rank {} gone while fetching its memory, or in another network "
                      "name space",
                      session_.rank(), peer()));
    }
    HOCKNEY_CHECK(-1);
  }
  if (!IsSameUser(connection)) {
    throw EnvironmentError(
        fmt::format("rank {} runs as another user than rank {}", peer(), session_.rank()));
  }
  connection_ = std::move(connection);
  return true;
}

// Connects to the next peer, or takes its descriptor; returns whether anything was done.
bool Exchange::FetchStep() {
  if (!connection_.valid()) return Connect();
  Message message;
  const ssize_t bytes = recvmsg(connection_.get(), &message.header, MSG_CMSG_CLOEXEC);
  if (bytes == -1 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes == 0 || (bytes == -1 && errno == ECONNRESET)) {
    throw TimeoutError(
        fmt::format("rank {} lost rank {} while fetching its memory", session_.rank(), peer()));
  }
  HOCKNEY_CHECK(bytes);
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) {
    // The kernel drops a descriptor that this process has no room for.
    throw EnvironmentError(fmt::format(
        "rank {} got no file descriptor from rank {}: raise the limit of open files (ulimit -n)",
        session_.rank(), peer()));
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  received_[peer()] = FileDescriptor(fd);
  connection_ = FileDescriptor();
  ++fetched_;
  return true;
}

// Returns when something may have changed. A full queue of a peer shows in no poll, hence 10 ms at
// most.
void Exchange::Sleep(const Deadline& deadline) const {
  std::array<pollfd, 2> waits{{{listener_.get(), POLLIN, 0}, {connection_.get(), POLLIN, 0}}};
  if (poll(waits.data(), waits.size(), deadline.PollMilliseconds(10)) == -1 && errno != EINTR) {
    HOCKNEY_CHECK(-1);
  }
}

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  FileDescriptor taken(std::move(other));
  std::swap(fd_, taken.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (valid()) close(fd_);
}

std::vector<FileDescriptor> ExchangeFileDescriptors(Session& session, const FileDescriptor& mine) {
  return Exchange(session, mine).Run();
}

}  // namespace hockney
