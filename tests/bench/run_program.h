#pragma once

#include <cstddef>
#include <string>

namespace hockney::testing {

// What a command printed and how it ended.
struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs `words` in a shell, with the built program as $HOCKNEY and without what a launcher around
// the test would have set.
Outcome RunShell(const std::string& words);

// The program with these arguments; and the same as ranks of mpirun, allowed for root as the
// scripts do.
Outcome RunProgram(const std::string& arguments);
Outcome RunUnderMpi(int ranks, const std::string& arguments);

// What RunUnderMpi puts before the program, for other words to be run as ranks.
std::string MpirunWords(int ranks);

std::size_t CountLines(const std::string& text);

// Whether mpirun can be found.
bool HasMpirun();

}  // namespace hockney::testing
