#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

class Session;

// Who decided where a rank runs.
enum class PinnedBy { kLauncher, kHockney, kNone };
std::string_view Name(PinnedBy by);  // "launcher", "hockney", "none"

struct PinResult {
  PinnedBy by = PinnedBy::kNone;
  std::string cpu_list;         // the calling thread may run on, as "0-3,8"
  bool oversubscribed = false;  // as far as this rank alone can tell; see Oversubscribed
};

// Pins the calling thread, rank `local_rank` of `local_ranks` on this host, to one CPU: the first
// hardware thread of each allowed core in turn, then the second ones. A thread that may run on
// fewer CPUs than are online for its control group was bound by the launcher and is left alone; so
// are all ranks if there are more of them than allowed CPUs, which is reported as oversubscribed.
// Call before allocating memory. Throws std::invalid_argument for a rank outside the range.
PinResult PinRank(int local_rank, int local_ranks);

// Returns whether some ranks of `kernel`, the session of the ranks of one kernel, must share a CPU,
// whoever bound them. Call after PinRank, on the threads that will run. Collective.
bool Oversubscribed(Session& kernel);

// How this rank and the others of its kernel use the kernel's CPUs.
struct CpuShare {
  PinResult pin;
  bool oversubscribed = false;  // some ranks of the kernel must share a CPU
  int kernel_ranks = 1;         // of all hosts that run on this rank's kernel
  bool shared_kernel = false;   // several hosts do
};

// Pins the calling rank of `session` as PinRank does, but leaves all ranks of a kernel free that
// several hosts share (network namespaces, containers): each host would count its CPUs as its own.
// `local` is this rank's host, as SplitSharedMemory gives it; hosts whose boot ids agree share a
// kernel, one whose boot id is not known is taken to have its own. CPUs are counted a kernel, not a
// host. Call before allocating memory. Collective.
CpuShare ShareCpus(Session& session, Session& local, const std::optional<std::string>& boot_id);

// Returns whether the ranks cannot each have a CPU of their own; cpus_of_rank[r] = CPUs rank r may
// use.
bool CannotSpread(const std::vector<std::vector<int>>& cpus_of_rank);

// Returns `cpus` in the order ranks take them; siblings[i] = all hardware threads of the core of
// cpus[i], ascending.
std::vector<int> PinOrder(const std::vector<int>& cpus,
                          const std::vector<std::vector<int>>& siblings);

}  // namespace hockney
