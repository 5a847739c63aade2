#include "topology/affinity.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "topology/check.h"

namespace hockney {
namespace {

const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

constexpr std::size_t kMostCpus = 1 << 16;  // Linux allows 8192

}  // namespace

std::vector<int> AllowedCpus() {
  // One cpu_set_t holds 1024 CPUs; Linux refuses a mask shorter than its own with EINVAL.
  std::vector<cpu_set_t> mask(1);
  while (sched_getaffinity(0, mask.size() * sizeof(cpu_set_t), mask.data()) == -1) {
    if (errno != EINVAL || mask.size() * CPU_SETSIZE >= kMostCpus) {
      throw BackendError(std::string("sched_getaffinity: ") + strerrordesc_np(errno));
    }
    mask.resize(2 * mask.size());
  }
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < 8 * bytes; ++cpu) {
    if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

void BindThread(const std::vector<int>& cpus) {
  const int most = cpus.empty() ? 0 : *std::max_element(cpus.begin(), cpus.end());
  std::vector<cpu_set_t> mask(most / CPU_SETSIZE + 1);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  for (const int cpu : cpus) CPU_SET_S(cpu, bytes, mask.data());
  HOCKNEY_CHECK(sched_setaffinity(0, bytes, mask.data()));
}

}  // namespace hockney
