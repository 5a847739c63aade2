#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hockney {

// Several whole launches of one command into one run folder: what differs from launch to launch
// (where memory lies, which cores) shows only between them.
struct LaunchesOptions {
  int count = 1;
  std::string launcher = {};  // words for a shell that start each, "mpirun -n 2"; empty: none
  std::filesystem::path out = {};
  std::uint64_t seed = 1;  // of the first launch; each next one gets the next number
};

// Runs the command `arguments` (program first; its options --launches, --launcher, --out, --append
// and --seed are replaced) `count` times, one after the other, each adding a launch to the folder.
// Returns 0, or the exit code of the first launch that failed, which is said on stderr and ends the
// series; SIGTERM is passed on. Throws EnvironmentError if a launch cannot be started.
int RunLaunches(const LaunchesOptions& options, const std::vector<std::string>& arguments);

// Returns the words without the options `names`, each given as "--name value" or "--name=value"
// (or, if in `flags`, alone).
std::vector<std::string> WithoutOptions(const std::vector<std::string>& words,
                                        const std::vector<std::string>& names,
                                        const std::vector<std::string>& flags);

}  // namespace hockney
