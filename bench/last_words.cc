#include "bench/last_words.h"

#include <nlohmann/json.hpp>
#include <span>

#include "topology/session.h"
#include "topology/watchdog.h"
#include "tuner/records.h"

namespace hockney {

void LeaveLastWords(Session& session, Watchdog& watchdog, const std::filesystem::path& folder) {
  const std::string mine =
      session.rank() == 0 ? std::filesystem::absolute(folder).string() : std::string();
  const auto all = session.AllGather(std::as_bytes(std::span(mine)));
  const std::filesystem::path path(
      std::string(reinterpret_cast<const char*>(all[0].data()), all[0].size()));
  watchdog.SetLastWords([path, rank = session.rank()](const Ending& ending) {
    // Who is cut off knows less than the others, who write this file too where they share it.
    if (ending.cause.empty() || (ending.cut_off && rank != 0)) return;
    const char* outcome = ending.exit_code == ToInt(ExitCode::kInterrupted) ? "interrupted"
                          : ending.waiting_for.empty()                      ? "lost_rank"
                                                                            : "timeout";
    MarkEnding(path, {.outcome = outcome,
                      .exit_code = ending.exit_code,
                      .lost_rank = ending.lost_rank,
                      .waiting_for = ending.waiting_for});
  });
}

void SetOutcome(nlohmann::ordered_json& run, const char* command, const std::string& outcome,
                std::optional<ExitCode> code) {
  run["command"] = command;
  run["outcome"] = outcome;
  run["exit_code"] = code ? nlohmann::ordered_json(ToInt(*code)) : nullptr;
  run["lost_rank"] = nullptr;
  run["waiting_for"] = nullptr;
}

}  // namespace hockney
