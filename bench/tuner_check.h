#pragma once

#include <optional>
#include <string>

namespace hockney {

class Session;

// Prints whether all ranks would choose alike with NCCL's tuner: each reads `file`, or the one that
// its NCCL_TUNER_CONFIG_FILE names, and their hashes are compared over the hosts. Returns 0.
// Collective. Throws on every rank alike: InputError with the one cause if no rank can read its
// rules, EnvironmentError naming the hosts if they differ.
int CheckTuner(Session& session, const std::optional<std::string>& file);

}  // namespace hockney
