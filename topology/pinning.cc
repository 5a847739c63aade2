#include "topology/pinning.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "topology/affinity.h"
#include "topology/cgroup.h"
#include "topology/session.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

// CPUs this process could have had without a launcher: those online within its control group. The
// group matters because a container or a batch system's job confines all ranks alike, which is not
// binding.
std::vector<int> OfferedCpus(const std::vector<int>& allowed) {
  const auto online = ParseCpuList(ReadText("/sys/devices/system/cpu/online").value_or(""));
  if (!online || online->empty()) return allowed;
  const auto group = ReadCgroupCpus("/");
  if (!group || group->empty()) return *online;
  std::vector<int> offered;
  std::set_intersection(online->begin(), online->end(), group->begin(), group->end(),
                        std::back_inserter(offered));
  return offered.empty() ? *online : offered;
}

// What was bound before hockney did anything.
PinResult FoundBinding(const std::vector<int>& allowed) {
  const bool bound = allowed.size() < OfferedCpus(allowed).size();
  return {.by = bound ? PinnedBy::kLauncher : PinnedBy::kNone, .cpu_list = FormatCpuList(allowed)};
}

// The ranks of this rank's kernel, in the order of `session`.
Session SplitByKernel(Session& session, Session& local, const std::optional<std::string>& boot_id) {
  int first = session.rank();  // of the host
  local.Broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
  // One answer a host, that of its first rank, so that a host is never taken apart.
  const std::string mine = first == session.rank() ? boot_id.value_or("") : "";
  const auto boot_ids = session.AllGather(std::as_bytes(std::span(mine)));
  int color = first;
  for (int rank = 0; rank < first && !boot_ids[first].empty(); ++rank) {
    if (boot_ids[rank] != boot_ids[first]) continue;
    color = rank;
    break;
  }
  return session.Split(color, session.rank());
}

std::vector<int> SiblingsOf(int cpu) {
  const auto text =
      ReadText(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  auto siblings = ParseCpuList(text.value_or(""));
  if (!siblings || siblings->empty()) return {cpu};
  return *siblings;
}

// Kuhn's augmenting path: finds `rank` a CPU, moving ranks placed earlier to others of their CPUs.
class Placement {
 public:
  explicit Placement(const std::vector<std::vector<int>>& cpus_of_rank)
      : cpus_of_rank_(cpus_of_rank) {
    int most = -1;
    for (const auto& cpus : cpus_of_rank) {
      for (const int cpu : cpus) most = std::max(most, cpu);
    }
    rank_on_cpu_.resize(most + 1, -1);
  }

  bool Place(int rank) {
    tried_.assign(rank_on_cpu_.size(), false);
    return TryPlace(rank);
  }

 private:
  bool TryPlace(int rank) {
    for (const int cpu : cpus_of_rank_[rank]) {
      if (tried_[cpu]) continue;
      tried_[cpu] = true;
      if (rank_on_cpu_[cpu] < 0 || TryPlace(rank_on_cpu_[cpu])) {
        rank_on_cpu_[cpu] = rank;
        return true;
      }
    }
    return false;
  }

  const std::vector<std::vector<int>>& cpus_of_rank_;
  std::vector<int> rank_on_cpu_;  // -1: free
  std::vector<bool> tried_;
};

}  // namespace

std::string_view Name(PinnedBy by) {
  switch (by) {
    case PinnedBy::kLauncher:
      return "launcher";
    case PinnedBy::kHockney:
      return "hockney";
    case PinnedBy::kNone:
      return "none";
  }
  throw std::invalid_argument("value outside PinnedBy");
}

std::vector<int> PinOrder(const std::vector<int>& cpus,
                          const std::vector<std::vector<int>>& siblings) {
  // How many hardware threads of the same core come before a CPU among the allowed ones.
  const auto turn = [&](std::size_t i) {
    return std::count_if(siblings[i].begin(), siblings[i].end(), [&](int sibling) {
      return sibling < cpus[i] && std::binary_search(cpus.begin(), cpus.end(), sibling);
    });
  };
  std::vector<std::pair<std::ptrdiff_t, int>> order;
  for (std::size_t i = 0; i < cpus.size(); ++i) order.emplace_back(turn(i), cpus[i]);
  std::sort(order.begin(), order.end());
  std::vector<int> result;
  result.reserve(order.size());
  for (const auto& [unused, cpu] : order) result.push_back(cpu);
  return result;
}

PinResult PinRank(int local_rank, int local_ranks) {
  if (local_rank < 0 || local_rank >= local_ranks) {
    throw std::invalid_argument(fmt::format("local rank {} of {}", local_rank, local_ranks));
  }
  const std::vector<int> allowed = AllowedCpus();
  PinResult result = FoundBinding(allowed);
  if (result.by == PinnedBy::kLauncher) return result;
  if (local_ranks > static_cast<int>(allowed.size())) {
    result.oversubscribed = true;
    return result;
  }
  std::vector<std::vector<int>> siblings;
  siblings.reserve(allowed.size());
  for (const int cpu : allowed) siblings.push_back(SiblingsOf(cpu));
  const int cpu = PinOrder(allowed, siblings)[local_rank];
  BindThread({cpu});
  return {.by = PinnedBy::kHockney, .cpu_list = FormatCpuList({cpu})};
}

bool CannotSpread(const std::vector<std::vector<int>>& cpus_of_rank) {
  Placement placement(cpus_of_rank);
  for (std::size_t rank = 0; rank < cpus_of_rank.size(); ++rank) {
    if (!placement.Place(static_cast<int>(rank))) return true;
  }
  return false;
}

bool Oversubscribed(Session& kernel) {
  const std::vector<int> mine = AllowedCpus();
  std::vector<std::vector<int>> cpus_of_rank;
  for (const auto& bytes : kernel.AllGather(std::as_bytes(std::span(mine)))) {
    std::vector<int> cpus(bytes.size() / sizeof(int));
    std::memcpy(cpus.data(), bytes.data(), bytes.size());
    cpus_of_rank.push_back(std::move(cpus));
  }
  return CannotSpread(cpus_of_rank);
}

CpuShare ShareCpus(Session& session, Session& local, const std::optional<std::string>& boot_id) {
  Session kernel = SplitByKernel(session, local, boot_id);
  CpuShare share{
      .pin = {}, .kernel_ranks = kernel.ranks(), .shared_kernel = kernel.ranks() > local.ranks()};
  share.pin =
      share.shared_kernel ? FoundBinding(AllowedCpus()) : PinRank(local.rank(), local.ranks());
  share.oversubscribed = Oversubscribed(kernel);
  return share;
}

}  // namespace hockney
