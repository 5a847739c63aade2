#pragma once

#include <filesystem>

namespace hockney {

class Session;
class Watchdog;

// Lets whichever rank is left to say how the run ended write it into the run folder, which only
// rank 0 need pass. Collective; ends with watchdog.SetLastWords({}).
void LeaveLastWords(Session& session, Watchdog& watchdog, const std::filesystem::path& folder);

}  // namespace hockney
