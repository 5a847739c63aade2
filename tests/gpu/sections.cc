#include "tests/gpu/sections.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/gpu/section_parts.h"
#include "tests/gpu/speed.h"
#include "topology/check.h"
#include "topology/concat.h"

namespace hockney::testing {
namespace {

SectionResult Open(const SectionOptions& options) { return Pass(0, options.open()->name()); }

// This program under compute-sanitizer, on the small section.
SectionResult UnderTool(const SectionOptions& options, const std::string& tool) {
  constexpr int kWrong = 86;      // what the tool ends with where it found something
  constexpr int kNotFound = 127;  // of the shell
  constexpr int kNoGpu = 3;       // of gpu_check
  const std::string command = "compute-sanitizer --error-exitcode " + std::to_string(kWrong) +
                              " --tool " + tool + " " + options.program +
                              " --here --only small 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Fail("no shell");
  std::string output;
  char some[256];
  while (std::fgets(some, sizeof some, pipe) != nullptr) output += some;
  const int status = pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kNotFound) return Skip("there is no compute-sanitizer");
  if (code == kNoGpu) return Skip("there is no GPU");
  if (code == 0) return Pass(1, tool + " found nothing");
  if (code != kWrong && output.find("not supported") != std::string::npos) {
    return Skip(tool + " is not supported here");
  }
  const std::size_t least = std::min<std::size_t>(output.size(), 2000);
  return Fail(tool + ": " + output.substr(output.size() - least));
}

SectionResult Memcheck(const SectionOptions& options) { return UnderTool(options, "memcheck"); }
SectionResult Racecheck(const SectionOptions& options) { return UnderTool(options, "racecheck"); }

SectionResult Speed(const SectionOptions& options) {
  const auto device = options.open();
  return Pass(0, MeasureSpeed(*device, options));
}

constexpr Section kSections[] = {
    {"open", "one device is there and can run blocks that wait for each other", Open},
    {"small", "every algorithm on 2 ranks that are blocks of one launch", CheckSmall},
    {"rows", "every algorithm and protocol on 2 to 8 ranks of one launch, twice", CheckRows},
    {"types", "every type and operator", CheckTypes},
    {"counters", "counters and packet flags past 2^31 and 2^32", CheckCounters},
    {"long", "vectors of megabytes", CheckLong},
    {"graph", "a captured graph of 4 calls, replayed 1000 times", CheckGraph},
    {"lost_peer", "blocks end at the deadline when a rank does not come", CheckLostPeer},
    {"processes_ipc", "ranks that are processes on the device, over CUDA IPC", CheckProcessesByIpc},
    {"processes_file", "the same over file descriptors of CUDA virtual memory",
     CheckProcessesByFile},
    {"nccl", "NCCL among processes on the device, each under a host name of its own", CheckNccl},
    {"memcheck", "section small under compute-sanitizer", Memcheck},
    {"racecheck", "section small under its racecheck", Racecheck},
    {"speed", "collectives of 8 ranks on the device beside its own copies", Speed},
};

// A result on its way through a pipe: status and checks, then the text.
void WriteResult(int pipe, const SectionResult& result) {
  const std::string text =
      Concat(static_cast<int>(result.status), " ", result.checks, "\n", result.text);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(pipe, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

SectionResult ReadResult(int pipe) {
  std::string text;
  char some[4096];
  for (ssize_t got = 0; (got = read(pipe, some, sizeof some)) > 0;) {
    text.append(some, static_cast<std::size_t>(got));
  }
  int status = 0;
  SectionResult result;
  const std::size_t end = text.find('\n');
  if (end == std::string::npos ||
      std::sscanf(text.c_str(), "%d %d", &status, &result.checks) != 2) {
    return Fail("");
  }
  result.status = static_cast<SectionResult::Status>(status);
  result.text = text.substr(end + 1);
  return result;
}

}  // namespace

void Add(SectionResult& sum, const SectionResult& part) {
  sum.checks += part.checks;
  if (sum.status == SectionResult::Status::kPassed) sum.status = part.status;
  if (sum.text.empty()) sum.text = part.text;
}

DomainOptions SmallSlots(std::uint64_t first_count) {
  DomainOptions options;
  options.lanes = 16;
  options.limits.slot_bytes = 4096;
  options.limits.packet_slot_bytes = 2048;
  options.limits.memory_slice_bytes = 1024;
  options.first_count = first_count;
  return options;
}

std::vector<ExecutorCase> EveryRowInEveryProtocol(int ranks) {
  std::vector<ExecutorCase> cases = EveryRow(ranks, Protocol::kSimple);
  for (ExecutorCase& test : EveryRow(ranks, Protocol::kLl)) cases.push_back(std::move(test));
  return cases;
}

std::span<const Section> AllSections() { return kSections; }

SectionResult RunSectionHere(const Section& section, const SectionOptions& options) {
  try {
    return section.run(options);
  } catch (const EnvironmentError& error) {
    return Skip(error.what());
  } catch (const std::exception& error) {
    return Fail(error.what());
  }
}

SectionResult RunSection(const Section& section, const SectionOptions& options, int seconds) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return Fail("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Fail("no process");
  if (child == 0) {
    close(pipe_ends[0]);
    alarm(static_cast<unsigned>(seconds));
    WriteResult(pipe_ends[1], RunSectionHere(section, options));
    std::_Exit(0);
  }
  close(pipe_ends[1]);
  SectionResult result = ReadResult(pipe_ends[0]);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    result = Fail(WTERMSIG(status) == SIGALRM ? Concat("not done after ", seconds, " s")
                                              : Concat("ended by signal ", WTERMSIG(status)));
  }
  return result;
}

}  // namespace hockney::testing
