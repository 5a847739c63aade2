#pragma once

#include <string>

#include "bench/exit_codes.h"

namespace hockney {

// How a run failed.
struct Failure {
  ExitCode code = ExitCode::kInternal;
  std::string text;
  bool agreed = false;  // every rank has it, so one of them prints it
};

// Returns the failure of the exception that the caller is handling.
Failure CurrentFailure();

}  // namespace hockney
