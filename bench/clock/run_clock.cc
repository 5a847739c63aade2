#include "bench/clock/run_clock.h"

#include <fmt/core.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "topology/check.h"

namespace hockney {
namespace {

ClockKind Decide(ClockKind wanted, std::size_t clocks) {
  if (wanted == ClockKind::kAuto) return clocks == 1 ? ClockKind::kTsc : ClockKind::kHca3;
  if (wanted == ClockKind::kTsc && clocks > 1) {
    throw Agreed<std::invalid_argument>(
        fmt::format("--clock: \"tsc\": expected auto, hca3 or local, for the ranks run on {} "
                    "kernels, which share no clock",
                    clocks));
  }
  return wanted;
}

// Connects the first ranks of the groups and returns the links by rank of the session.
std::vector<FileDescriptor> ConnectFirsts(Session& session, const ClockGroups& groups,
                                          const RunClock::Connect& connect) {
  std::vector<FileDescriptor> links(session.ranks());
  const int node = groups.of_rank[session.rank()];
  const bool is_first = groups.firsts[node] == session.rank();
  Session firsts = session.Split(is_first ? 1 : 0, session.rank());
  if (!is_first) return links;
  std::vector<FileDescriptor> among = connect(firsts);
  for (std::size_t i = 0; i < among.size(); ++i) links[groups.firsts[i]] = std::move(among[i]);
  return links;
}

}  // namespace

std::string ClockName(const Machine& machine) {
  std::error_code error;  // a kernel without time name spaces
  const auto time = std::filesystem::read_symlink("/proc/self/ns/time", error);
  // Without a boot id only the name tells kernels apart.
  return machine.boot_id.value_or(machine.host_name.value_or("")) + " " + time.string();
}

RunClock::RunClock(Session& session, ClockKind wanted, const Place& place, const Connect& connect) {
  ClockGroups groups = GroupByClock(session, place.clock_name);
  kind_ = Decide(wanted, groups.firsts.size());
  if (kind_ != ClockKind::kHca3) return;
  if (groups.firsts.size() == 1) {
    groups = GroupByClock(session, fmt::format("{} {}", place.clock_name, place.host));
  }
  std::vector<FileDescriptor> links;
  if (groups.firsts.size() > 1) links = ConnectFirsts(session, groups, connect);
  link_ = std::make_unique<SocketClockLink>(session.rank(), std::move(links),
                                            session.timeout_seconds());
  global_ = std::make_unique<GlobalClock>(
      session, std::move(groups), GlobalClock::Access{.clock = &steady_, .link = link_.get()});
}

}  // namespace hockney
