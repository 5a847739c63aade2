#include "collectives/memory/fd_exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "topology/check.h"
#include "topology/concat.h"
#include "topology/deadline.h"
#include "topology/peer_links.h"
#include "topology/session.h"

namespace hockney {
namespace {

const char* StatusText(ssize_t status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

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

// The link is empty, so the message always fits.
void SendDescriptor(const FileDescriptor& link, const FileDescriptor& sent) {
  Message message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = sent.get();
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  if (sendmsg(link.get(), &message.header, MSG_NOSIGNAL) == -1 && errno != EPIPE) {
    HOCKNEY_CHECK(-1);  // a peer that is gone shows in receiving, too
  }
}

FileDescriptor ReceiveDescriptor(const Session& session, int peer, const FileDescriptor& link,
                                 const Deadline& deadline) {
  while (true) {
    Message message;
    const ssize_t bytes = recvmsg(link.get(), &message.header, MSG_CMSG_CLOEXEC);
    if (bytes == 0 || (bytes == -1 && errno == ECONNRESET)) {
      throw TimeoutError(
          Concat("rank ", session.rank(), " lost rank ", peer, " while fetching its memory"));
    }
    if (bytes == 1) {
      const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
      if (control == nullptr || control->cmsg_type != SCM_RIGHTS) {
        // The kernel drops a descriptor that this process has no room for.
        throw EnvironmentError(Concat("rank ", session.rank(), " got no file from rank ", peer,
                                      ": raise the limit of open files (ulimit -n)"));
      }
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
      return FileDescriptor(fd);
    }
    if (errno != EAGAIN && errno != EINTR) HOCKNEY_CHECK(bytes);
    if (deadline.passed()) {
      throw TimeoutError(Concat("rank ", session.rank(), " waited ", session.timeout_seconds(),
                                " s for the memory of rank ", peer));
    }
    pollfd wait{link.get(), POLLIN, 0};
    if (poll(&wait, 1, deadline.PollMilliseconds(1000)) == -1 && errno != EINTR) HOCKNEY_CHECK(-1);
  }
}

}  // namespace

std::vector<FileDescriptor> ExchangeFileDescriptors(Session& session, const FileDescriptor& mine) {
  const std::vector<FileDescriptor> links = ConnectPeers(session);
  for (const FileDescriptor& link : links) {
    if (link.valid()) SendDescriptor(link, mine);
  }
  const Deadline deadline(session.timeout_seconds());
  std::vector<FileDescriptor> received(links.size());
  for (std::size_t peer = 0; peer < links.size(); ++peer) {
    if (!links[peer].valid()) continue;
    received[peer] = ReceiveDescriptor(session, static_cast<int>(peer), links[peer], deadline);
  }
  return received;
}

}  // namespace hockney
