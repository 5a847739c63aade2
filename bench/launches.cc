#include "bench/launches.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bench/earlier_launches.h"
#include "bench/exit_codes.h"
#include "bench/signals.h"
#include "topology/check.h"
#include "tuner/records.h"

namespace hockney {
namespace {

pid_t Spawn(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    throw EnvironmentError(
        fmt::format("{}: cannot be started: {}", words[0], strerrordesc_np(error)));
  }
  return pid;
}

// Returns the status of waitpid. A terminal sends SIGINT to the launch itself; one that still runs
// after a while has not got it.
int WaitFor(pid_t pid) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience{1500};
  std::optional<Clock::time_point> signalled;
  bool passed_on = false;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int signal = InterruptGuard::Signal();
    if (signal == 0 || passed_on) continue;
    if (!signalled) signalled = Clock::now();
    if (signal == SIGINT && Clock::now() - *signalled < kPatience) continue;
    passed_on = true;
    kill(pid, SIGTERM);
  }
  return status;
}

// The launcher decides the code of its job; what the ranks decided is in the folder.
// `launches`: how many the folder had before.
int ExitCodeOf(int status, const std::filesystem::path& folder, std::uint64_t launches) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  const auto run = ReadRun(folder);
  const bool has_code = CountLaunches(folder) > launches && run["exit_code"].is_number();
  const int code = has_code ? run["exit_code"].get<int>() : 0;
  if (code != 0) return code;
  if (!WIFEXITED(status)) return ToInt(ExitCode::kTimeout);
  // Other codes than ours come from the launcher: it could not start the ranks, for example.
  const int own = WEXITSTATUS(status);
  return own <= ToInt(ExitCode::kInterrupted) ? own : ToInt(ExitCode::kEnvironment);
}

std::vector<std::string> LaunchWords(const LaunchesOptions& options,
                                     const std::vector<std::string>& arguments, int launch) {
  std::vector<std::string> words =
      WithoutOptions(arguments, {"--launches", "--launcher", "--out", "--seed"}, {"--append"});
  words[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const std::string& word :
       {std::string("--out"), options.out.string(), std::string("--append"), std::string("--seed"),
        std::to_string(options.seed + static_cast<std::uint64_t>(launch))}) {
    words.push_back(word);
  }
  if (options.launcher.empty()) return words;
  // The shell splits the launcher's words and leaves ours as they are.
  std::vector<std::string> all = {"sh", "-c", "exec " + options.launcher + " \"$@\"", "sh"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

std::vector<std::string> WithoutOptions(const std::vector<std::string>& words,
                                        const std::vector<std::string>& names,
                                        const std::vector<std::string>& flags) {
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (has(flags, words[i]) || has(names, words[i].substr(0, words[i].find('=')))) {
      if (has(names, words[i])) ++i;  // its value is the next word
      continue;
    }
    rest.push_back(words[i]);
  }
  return rest;
}

int RunLaunches(const LaunchesOptions& options, const std::vector<std::string>& arguments) {
  const InterruptGuard guard;
  for (int launch = 0; launch < options.count; ++launch) {
    fmt::print(stderr, "hockney: launch {} of {}\n", launch + 1, options.count);
    const std::uint64_t before = CountLaunches(options.out);
    const int status = WaitFor(Spawn(LaunchWords(options, arguments, launch)));
    int code = ExitCodeOf(status, options.out, before);
    if (code == 0 && InterruptGuard::Signal() != 0) code = ToInt(ExitCode::kInterrupted);
    if (code == 0) continue;
    const bool kept = std::filesystem::exists(options.out / "sweep.csv");
    fmt::print(stderr, "hockney: launch {} of {} ended with exit code {}{}\n", launch + 1,
               options.count, code,
               kept ? "; what was measured is in " + options.out.string() : "");
    return code;
  }
  return 0;
}

}  // namespace hockney
