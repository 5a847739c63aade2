#include "tests/bench/run_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

namespace hockney::testing {
namespace {

std::string ReadAll(std::FILE* file) {
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), file)) > 0;) {
    text.append(part.data(), n);
  }
  return text;
}

}  // namespace

Outcome RunShell(const std::string& words) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File errors(std::tmpfile(), std::fclose);
  // popen gives one stream, so stderr takes the way over a file.
  const std::string fd = std::to_string(fileno(errors.get()));
  const std::string line =
      "unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK SLURM_STEP_NUM_TASKS "
      "SLURM_PROCID; export HOCKNEY=" HOCKNEY_PROGRAM "; { " +
      words + "; } 2>/proc/self/fd/" + fd;
  std::FILE* pipe = popen(line.c_str(), "r");
  Outcome outcome;
  outcome.out = ReadAll(pipe);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  std::rewind(errors.get());
  outcome.err = ReadAll(errors.get());
  return outcome;
}

Outcome RunProgram(const std::string& arguments) { return RunShell("$HOCKNEY " + arguments); }

std::string MpirunWords(int ranks) {
  const std::string root =
      getuid() == 0 ? "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " : "";
  return root + "mpirun -n " + std::to_string(ranks) + " --oversubscribe ";
}

Outcome RunUnderMpi(int ranks, const std::string& arguments) {
  return RunShell(MpirunWords(ranks) + "$HOCKNEY " + arguments);
}

std::size_t CountLines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool HasMpirun() { return RunShell("command -v mpirun").exit_code == 0; }

}  // namespace hockney::testing
