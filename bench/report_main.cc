#include "bench/report_main.h"

#include <cstdio>
#include <exception>

#include "bench/exit_codes.h"
#include "topology/check.h"

namespace hockney {

int RunReport(const char* name, int (*program)(int argc, char** argv), int argc, char** argv) {
  try {
    return program(argc, argv);
  } catch (const EnvironmentError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return ToInt(ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return ToInt(ExitCode::kUsage);
  }
}

}  // namespace hockney
