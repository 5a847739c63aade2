#include "bench/failure.h"

#include <CLI/CLI.hpp>
#include <new>
#include <stdexcept>
#include <system_error>

#include "bench/options.h"
#include "topology/check.h"
#include "tuner/records.h"

namespace hockney {
namespace {

template <class... Types>
bool IsAny(const std::exception& error) {
  return (... || (dynamic_cast<const Types*>(&error) != nullptr));
}

ExitCode CodeOf(const std::exception& error) {
  if (IsAny<UsageError, InputError, CLI::Error, std::invalid_argument>(error)) {
    return ExitCode::kUsage;
  }
  // std::system_error: a thread cannot start, or fmt cannot write.
  if (IsAny<EnvironmentError, std::system_error, std::bad_alloc>(error)) {
    return ExitCode::kEnvironment;
  }
  if (IsAny<TimeoutError>(error)) return ExitCode::kTimeout;
  return IsAny<WrongDataError>(error) ? ExitCode::kWrongData : ExitCode::kInternal;
}

}  // namespace

Failure CurrentFailure() {
  try {
    throw;
  } catch (const std::exception& error) {
    return {CodeOf(error), IsAny<std::bad_alloc>(error) ? "out of memory" : error.what(),
            IsAny<AgreedMark>(error)};
  } catch (...) {
    return {ExitCode::kInternal, "unknown exception"};
  }
}

}  // namespace hockney
