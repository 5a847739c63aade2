#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "topology/file_descriptor.h"

namespace hockney {

class Deadline;
class Session;

// Returns, in rank order, a connected stream socket to each other rank; the caller's own place is
// empty. Non-blocking Unix sockets in the abstract name space, under random names that only the
// session knows, and only between processes of one user. A rank that ends closes its ends, whatever
// ended it. Collective over `session`, whose ranks are processes of one host and one network name
// space. Throws on every rank alike EnvironmentError if some rank may not open that many files, and
// TimeoutError if a rank is gone or does not answer within the session's timeout, BackendError if
// the system refuses.
std::vector<FileDescriptor> ConnectPeers(Session& session);

// The same for ranks of several hosts: those of one host as above, others over TCP on the
// interfaces named (ChooseAddresses says which if none is). `local` are the ranks of this host.
// Throws also EnvironmentError if hosts have no way to each other.
std::vector<FileDescriptor> ConnectHosts(Session& session, Session& local,
                                         const std::string& interfaces);

// Returns for every rank the lowest rank of its host. Collective over both.
std::vector<int> FirstRanksOfHosts(Session& session, Session& local);

// How a transfer over a link ended.
enum class LinkResult { kDone, kClosed, kTimedOut };

// Send or receive all of `bytes`, waiting as long as the deadline allows. kClosed if the peer is
// gone. Throw BackendError if the system refuses.
LinkResult SendAll(const FileDescriptor& link, std::span<const std::byte> bytes,
                   const Deadline& deadline);
LinkResult ReceiveAll(const FileDescriptor& link, std::span<std::byte> bytes,
                      const Deadline& deadline);

}  // namespace hockney
