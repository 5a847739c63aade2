#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

#include "topology/file_descriptor.h"
#include "topology/network.h"

namespace hockney {

class Session;

// One way for ranks to connect to each other: a socket that listens here and what is known of the
// others'. For ConnectPeers only.
class PeerDoor {
 public:
  PeerDoor() = default;
  PeerDoor(const PeerDoor&) = delete;
  PeerDoor& operator=(const PeerDoor&) = delete;
  virtual ~PeerDoor() = default;

  virtual const FileDescriptor& listener() const = 0;
  // Returns the connection to `peer`, or none if it must be tried again. Does not wait. Throws
  // TimeoutError if `peer` is gone, EnvironmentError if it is not one of us.
  virtual FileDescriptor Connect(int peer) = 0;
  // How `peer` is reached, for people: " over eth0, from ... to ..."; empty if that says nothing.
  virtual std::string WayTo(int /*peer*/) const { return {}; }
  // Whether an accepted connection may come from one of us.
  virtual bool Admits(const FileDescriptor& connection) const = 0;
};

// Unix sockets in the abstract name space under random names, for ranks of one host, one user and
// one network name space. Collective over `session`, of which only ranks of this host are asked to
// Connect.
class UnixDoor : public PeerDoor {
 public:
  explicit UnixDoor(Session& session);
  const FileDescriptor& listener() const override { return listener_; }
  FileDescriptor Connect(int peer) override;
  bool Admits(const FileDescriptor& connection) const override;

 private:
  int rank_;
  FileDescriptor listener_;
  std::vector<std::string> names_;  // by rank
};

// TCP sockets, for ranks of different hosts: an address of a peer that does not answer within
// seconds is given up for its next one. A connection whose host is cut off ends after about ten
// seconds.
class TcpDoor : public PeerDoor {
 public:
  // `first_ranks[r]` is the lowest rank of r's host; `interfaces` as for ChooseAddresses.
  // Collective.
  TcpDoor(Session& session, const std::vector<int>& first_ranks, const std::string& interfaces);
  const FileDescriptor& listener() const override { return listener_; }
  FileDescriptor Connect(int peer) override;
  bool Admits(const FileDescriptor&) const override { return true; }  // Greeting decides
  std::string WayTo(int peer) const override;

  // What this host is reached by.
  const std::vector<NetworkAddress>& addresses() const { return addresses_; }

 private:
  void Listen(Session& session);
  void StartAttempt(const NetworkAddress& address, int port);

  int rank_;
  FileDescriptor listener_;
  std::vector<NetworkAddress> addresses_;
  std::vector<int> ports_;                           // by rank
  std::vector<std::vector<NetworkAddress>> theirs_;  // by rank, nearest first
  FileDescriptor attempt_;
  std::size_t attempts_ = 0;  // at the peer that is tried now
  double attempt_until_ = 0;
};

}  // namespace hockney
