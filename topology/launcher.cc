#include "topology/launcher.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace hockney {

std::optional<int> LauncherWorldSize() {
  // The innermost launcher first: mpirun within a Slurm step leaves that step's variables in place.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text = value;
    int ranks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
    if (error == std::errc() && end == text.data() + text.size() && ranks > 0) return ranks;
  }
  return std::nullopt;
}

bool UnderLauncher() { return LauncherWorldSize().has_value(); }

}  // namespace hockney
