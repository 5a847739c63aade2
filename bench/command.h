#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace hockney {

class Launch;

// Runs a sub-command whose options have been read, and returns the exit code of this process.
using Runner = std::function<int(Launch& launch)>;

// One sub-command of the program. To add one, write a file with `Command XCommand()`, declare it in
// commands.h and name it in the list of program.cc.
struct Command {
  const char* name = "";
  // Adds the sub-command `name` with its options, its help and one example to `program`. The runner
  // owns what the options are read into.
  Runner (*add)(CLI::App& program) = nullptr;
};

}  // namespace hockney
