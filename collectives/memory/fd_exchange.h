#pragma once

#include <vector>

#include "topology/file_descriptor.h"

namespace hockney {

class Session;

// Returns, in rank order, a descriptor of the file that each other rank passed as `mine`; the
// caller's own place is empty. Goes over links of its own (ConnectPeers). Collective over
// `session`, whose ranks are processes of one host and one network name space. Throws as
// ConnectPeers does, and TimeoutError if a rank does not give its file in time.
std::vector<FileDescriptor> ExchangeFileDescriptors(Session& session, const FileDescriptor& mine);

}  // namespace hockney
