#pragma once

#include <stdexcept>

namespace hockney {

// How the program ends; the README gives users the same list.
enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,        // a bad option or input file
  kEnvironment = 3,  // the machine lacks what was asked for
  kTimeout = 4,      // a wait passed its deadline, or a peer is gone
  kWrongData = 5,
  kRegression = 6,
  kInterrupted = 7,  // by a signal; what was measured is kept
};

constexpr int ToInt(ExitCode code) { return static_cast<int>(code); }

// A collective left other data than it must: the program exits 5.
class WrongDataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hockney
