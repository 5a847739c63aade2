#pragma once

#include <string>
#include <vector>

#include "topology/session.h"

namespace hockney {

// Makes sure that all ranks run the same build with the same arguments (program name first, which
// may differ), before anything else is exchanged: other counts, types or versions would hang or
// give wrong data. `problem` is what is wrong with this rank's own command line, empty if nothing.
// Throws UsageError on every rank alike, naming the odd rank and what differs, or the first rank's
// problem. Collective.
void RequireSameProgram(Session& session, const std::vector<std::string>& arguments,
                        const std::string& problem);

}  // namespace hockney
