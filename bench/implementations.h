#pragma once

#include <vector>

namespace hockney {

// Something that runs collectives: our executors and the libraries they are compared with.
struct Implementation {
  const char* name = "";
  bool built = false;
  const char* note = "";  // on what it runs, or why it is missing
};

// All of them, built or not.
std::vector<Implementation> AllImplementations();

}  // namespace hockney
