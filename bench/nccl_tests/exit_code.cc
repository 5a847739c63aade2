#include "bench/nccl_tests/exit_code.h"

#include <stdexcept>

namespace hockney {

bool IsBadSizes() {
  try {
    throw;
  } catch (const BadSizesError&) {
    return true;
  } catch (...) {
    return false;
  }
}

int NcclTestsExitCode(ExitCode code, bool bad_sizes, int signal) {
  switch (code) {
    case ExitCode::kOk:
      return 0;
    case ExitCode::kInternal:
      return 1;
    case ExitCode::kInterrupted:
      return signal == 0 ? 1 : 128 + signal;
    case ExitCode::kTimeout:
      return 4;
    case ExitCode::kEnvironment:
      return 5;
    case ExitCode::kUsage:
      return bad_sizes ? 255 : 6;
    case ExitCode::kWrongData:
    case ExitCode::kRegression:
      return 7;
  }
  throw std::invalid_argument("exit code outside its enumeration");
}

}  // namespace hockney
