#pragma once

#include <netinet/in.h>

#include <span>
#include <string>
#include <vector>

namespace hockney {

class Session;

// An IPv4 or IPv6 address of a network interface.
struct NetworkAddress {
  std::string interface;
  std::string text;  // "10.0.0.1"
  int prefix = 0;    // bits of the network part

  // For connect(2), with `port` in host order. Throws std::invalid_argument if `text` is no
  // address.
  sockaddr_in6 ForPort(int port) const;  // IPv4 as ::ffff:a.b.c.d
  bool operator==(const NetworkAddress&) const = default;
};

// Returns the addresses of all interfaces that are up, but for loopback and link-local ones. Throws
// BackendError if the system refuses.
std::vector<NetworkAddress> ListAddresses();

// Returns which of a host's addresses others can reach it by: those on the interfaces named (comma
// separated; hosts may each have another of them), else those that no other host has too, as every
// host has its bridges for containers (172.17.0.1). Throws EnvironmentError naming the interfaces
// there are if none is left. `everyones` holds every host's addresses, `mine` is this host's index.
std::vector<NetworkAddress> ChooseAddresses(
    const std::vector<std::vector<NetworkAddress>>& everyones, int mine,
    const std::string& interfaces);

// Returns `theirs` in the order they should be tried from here: first those in a network that one
// of `mine` is in.
std::vector<NetworkAddress> NearestFirst(std::vector<NetworkAddress> theirs,
                                         std::span<const NetworkAddress> mine);

// Returns the name of every rank's host, in rank order. Collective.
std::vector<std::string> GatherHostNames(Session& session);

// One line an address, and back. Throws std::invalid_argument for text that is none.
std::string Serialize(std::span<const NetworkAddress> addresses);
std::vector<NetworkAddress> ParseAddresses(const std::string& text);

}  // namespace hockney
