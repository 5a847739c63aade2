#pragma once

#include <vector>

#include "topology/session.h"

namespace hockney {

// Returns, by rank of `session`, its number among the ranks of `local`, this rank's part of it; -1
// for ranks that are elsewhere. Collective over `local`.
std::vector<int> FindLocalNumbers(const Session& session, Session& local);

}  // namespace hockney
