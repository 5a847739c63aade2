#pragma once

#include <string>

namespace hockney {

// What this program was built from. A library that was not found is an empty text.
struct Build {
  std::string version;
  std::string compiler;
  std::string type;  // CMake's build type
  std::string sanitizer;
  std::string ucx;    // version of its headers
  std::string hwloc;  // the same
  std::string cuda;
  std::string id;  // of the linked program: differs between any two builds that differ
};
Build ReadBuild();

}  // namespace hockney
