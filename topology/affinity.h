#pragma once

#include <vector>

namespace hockney {

// Returns the CPUs the calling thread may run on, ascending. Throws BackendError if Linux does not
// say.
std::vector<int> AllowedCpus();

// Binds the calling thread to `cpus`. Throws BackendError if Linux refuses.
void BindThread(const std::vector<int>& cpus);

}  // namespace hockney
