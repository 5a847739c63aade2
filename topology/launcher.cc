#include "topology/launcher.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "topology/abstract_address.h"

namespace hockney {
namespace {

// Returns the value of the first variable that holds a number >= least. The innermost launcher
// comes first: mpirun within a Slurm step leaves that step's variables in place.
std::optional<int> FirstNumber(std::initializer_list<const char*> names, int least) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text = value;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= least) return number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> LauncherWorldSize() {
  return FirstNumber({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 1);
}

std::optional<int> LauncherRank() {
  return FirstNumber({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
}

bool IsFirstOfSiblings() {
  const AbstractAddress address(fmt::format("hockney-first-{}-{}", getuid(), getppid()));
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  // Kept open on purpose. Where no socket can be made, rather all speak than none.
  return fd == -1 || bind(fd, address.get(), address.bytes) == 0;
}

bool UnderLauncher() { return LauncherWorldSize().has_value(); }

}  // namespace hockney
