#pragma once

#include "bench/exit_codes.h"
#include "bench/options.h"

namespace hockney {

// A size option (-b, -e, -i) that cannot be used: nccl-tests ends with 255 there. Its code for
// other invalid use is 6, which we also give for unknown options; there these print the help and
// end with 0.
class BadSizesError : public UsageError {
 public:
  using UsageError::UsageError;
};

// Whether the exception that the caller is handling is a BadSizesError.
bool IsBadSizes();

// Returns nccl-tests' exit code (its README and src/common.h) for ours. Wrong data and an average
// below NCCL_TESTS_MIN_BW (kRegression) are both 7 there. `bad_sizes`: the usage error was a
// BadSizesError. A run that a signal interrupted ends as
// if the signal had ended it, 128 and its number; `signal` is 0 if another rank got it.
int NcclTestsExitCode(ExitCode code, bool bad_sizes, int signal = 0);

}  // namespace hockney
