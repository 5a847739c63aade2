#pragma once

#include <string>

namespace hockney::testing {

// The path of a file of tests/data.
inline std::string DataPath(const std::string& name) { return HOCKNEY_TEST_DATA "/" + name; }

}  // namespace hockney::testing
