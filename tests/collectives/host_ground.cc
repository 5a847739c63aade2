#include "tests/collectives/host_ground.h"

#include <algorithm>

namespace hockney::testing {

Ground HostGround(HostDomain& domain, HostExecutor& executor) {
  const std::span<std::byte> arena = domain.arena();
  Ground ground;
  ground.arena = arena.data();
  ground.limits = domain.options().limits;
  ground.prepare = [&executor](const Call& call, const Algorithm& row, const CallFlow& flow,
                               StorePolicy store) {
    return executor.Prepare(call, row, flow, store);
  };
  ground.write = [arena](std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, arena.begin());
  };
  ground.read = [arena](std::size_t bytes) {
    return std::vector<std::byte>(arena.begin(),
                                  arena.begin() + static_cast<std::ptrdiff_t>(bytes));
  };
  ground.packets = [&domain](int peer) {
    const auto* inbox = domain.At(0, peer).packet_inbox;
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < domain.options().limits.slots * domain.PacketWords(); ++i) {
      words.push_back(inbox[i].load(std::memory_order_relaxed));
    }
    return words;
  };
  return ground;
}

Ground MakeHostGround(Session& session, const DomainOptions& options) {
  struct Parts {
    HostDomain domain;
    HostExecutor executor;
    Parts(Session& ranks, const DomainOptions& options_of_domain)
        : domain(ranks, options_of_domain),
          executor(ranks, domain, {.oversubscribed = true, .timeout_seconds = 60}) {}
  };
  const auto parts = std::make_shared<Parts>(session, options);
  Ground ground = HostGround(parts->domain, parts->executor);
  ground.parts = parts;
  return ground;
}

}  // namespace hockney::testing
