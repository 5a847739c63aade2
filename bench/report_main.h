#pragma once

namespace hockney {

// Runs the program `name` that turns run folders into a report, and returns its exit code: what
// `program` throws is one line on stderr, 3 for EnvironmentError, else 2.
int RunReport(const char* name, int (*program)(int argc, char** argv), int argc, char** argv);

}  // namespace hockney
