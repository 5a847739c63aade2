// Checks hockney on one GPU: see README, "GPUs". Needs CUDA and the C++ library only.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/executors/cuda/cuda_device.h"
#include "tests/gpu/sections.h"
#include "topology/check.h"

namespace hockney::testing {
namespace {

constexpr int kSectionSeconds = 60;
constexpr int kSecondsInAll = 350;

constexpr const char* kUsage =
    "usage: gpu_check [--dry-run] [--only SECTION]... [--here] [--device N] [--nccl-lib PATH]\n"
    "Runs the tests that need a GPU, on GPU N (0), in at most six minutes, and prints a table.\n"
    "--dry-run lists them; --here runs them in this process, for debuggers and other tools.\n"
    "Exit codes: 0 all passed or were skipped with a reason; 1 something is wrong; 2 usage; 3 no "
    "GPU.\n";

struct Options {
  bool dry_run = false;
  bool here = false;
  std::vector<std::string> only;
  int device = 0;
  std::string nccl;
};

[[noreturn]] void FailUsage(const std::string& text) {
  std::fprintf(stderr, "gpu_check: %s\n%s", text.c_str(), kUsage);
  std::exit(2);
}

int ReadNumber(const std::string& text) {
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != text.npos) {
    FailUsage("--device: \"" + text + "\": expected a number from 0 on");
  }
  return std::stoi(text);
}

const Section* FindSection(const std::string& name) {
  for (const Section& section : AllSections()) {
    if (name == section.name) return &section;
  }
  return nullptr;
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "-h" || name == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (name == "--dry-run" || name == "--here") {
      (name == "--here" ? options.here : options.dry_run) = true;
      continue;
    }
    if (name != "--only" && name != "--device" && name != "--nccl-lib") {
      FailUsage("unknown option \"" + name + "\"");
    }
    if (i + 1 == argc) FailUsage(name + ": expected a value");
    const std::string value = argv[++i];
    if (name == "--only" && FindSection(value) == nullptr) {
      FailUsage("--only: \"" + value + "\": expected a section of --dry-run");
    }
    if (name == "--only") options.only.push_back(value);
    if (name == "--device") options.device = ReadNumber(value);
    if (name == "--nccl-lib") options.nccl = value;
  }
  return options;
}

const char* NameOf(SectionResult::Status status) {
  if (status == SectionResult::Status::kPassed) return "passed";
  return status == SectionResult::Status::kFailed ? "FAILED" : "skipped";
}

// The text beside a row where it is one line, else below it.
void PrintRow(const Section& section, const SectionResult& result, double seconds) {
  const bool is_line = result.text.find('\n') == result.text.npos;
  std::printf("%-15s %-8s %7d %8.1f  %s\n", section.name, NameOf(result.status), result.checks,
              seconds, is_line ? result.text.c_str() : "");
  if (!is_line) std::printf("%s", result.text.c_str());
  std::fflush(stdout);
}

int Run(const Options& options) {
  SectionOptions of_sections;
  of_sections.open = [&options] { return std::shared_ptr<Device>(OpenCudaDevice(options.device)); };
  if (char* self = realpath("/proc/self/exe", nullptr)) {
    of_sections.program = std::string(self) + " --device " + std::to_string(options.device);
    std::free(self);
  }
  if (!options.nccl.empty()) of_sections.nccl = options.nccl;
  std::printf("gpu_check: %s\n", CudaBuildStatus().c_str());
  std::printf("%-15s %-8s %7s %8s\n", "section", "result", "checks", "seconds");
  int failed = 0;
  int passed = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const Section& section : AllSections()) {
    bool wanted = options.only.empty();
    for (const std::string& name : options.only) wanted = wanted || name == section.name;
    if (!wanted) continue;
    const auto begin = std::chrono::steady_clock::now();
    const auto left =
        kSecondsInAll - std::chrono::duration_cast<std::chrono::seconds>(begin - start).count();
    const SectionResult result =
        options.here ? RunSectionHere(section, of_sections)
                     : RunSection(section, of_sections,
                                  static_cast<int>(std::clamp<long>(left, 1, kSectionSeconds)));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    PrintRow(section, result, taken.count());
    failed += result.status == SectionResult::Status::kFailed ? 1 : 0;
    passed += result.status == SectionResult::Status::kPassed ? 1 : 0;
    if (std::strcmp(section.name, "open") == 0 && result.status != SectionResult::Status::kPassed) {
      std::printf("nothing was run: without a GPU the rest would be skipped for the same reason\n");
      return failed > 0 ? 1 : 3;
    }
  }
  if (failed > 0) return 1;
  return passed > 0 ? 0 : 3;
}

}  // namespace
}  // namespace hockney::testing

int main(int argc, char** argv) {
  using namespace hockney::testing;
  const Options options = ReadOptions(argc, argv);
  if (!options.dry_run) return Run(options);
  for (const Section& section : AllSections())
    std::printf("%-15s %s\n", section.name, section.what);
  return 0;
}
