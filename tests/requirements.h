#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace hockney {

// Returns whether the environment variable HOCKNEY_REQUIRE, a comma list, contains `name`.
inline bool IsRequired(std::string_view name) {
  const char* list = std::getenv("HOCKNEY_REQUIRE");
  std::istringstream names(list == nullptr ? "" : list);
  for (std::string each; std::getline(names, each, ',');) {
    if (each == name) return true;
  }
  return false;
}

// For a test that needs something this machine may lack. Returns true if it is present. Otherwise
// the running test is marked as skipped with `reason`, or as failed if HOCKNEY_REQUIRE names
// `name`, and the test returns:  if (!RequireOrSkip("gpu", gpus > 0, "no GPU")) return;
inline bool RequireOrSkip(std::string_view name, bool present, std::string_view reason) {
  if (present) return true;
  // The macros of GoogleTest return, and only from functions without a result.
  [&] {
    if (IsRequired(name)) FAIL() << "HOCKNEY_REQUIRE names " << name << ", but: " << reason;
    GTEST_SKIP() << reason;
  }();
  return false;
}

}  // namespace hockney
