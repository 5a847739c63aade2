#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bench/exit_codes.h"

namespace hockney {

class Session;
class Watchdog;

// Lets whichever rank is left to say how the run ended write it into the run folder, which only
// rank 0 need pass. Collective; ends with watchdog.SetLastWords({}).
void LeaveLastWords(Session& session, Watchdog& watchdog, const std::filesystem::path& folder);

// Says in `run`, which becomes run.json, whose it is and how it ended, or that it has not; last
// words fill in the rest.
void SetOutcome(nlohmann::ordered_json& run, const char* command, const std::string& outcome,
                std::optional<ExitCode> code);

}  // namespace hockney
