#include "topology/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>

#include "topology/check.h"
#include "topology/concat.h"
#include "topology/session.h"

namespace hockney {
namespace {

const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

std::string TextOf(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, address, text.data(), text.size());
  return text.data();
}

int CountBits(std::span<const unsigned char> mask) {
  int bits = 0;
  for (const unsigned char byte : mask) bits += std::popcount(byte);
  return bits;
}

// The address and its network's length, or nothing to connect to.
bool Read(const ifaddrs& entry, NetworkAddress* address) {
  if (entry.ifa_addr == nullptr || entry.ifa_netmask == nullptr) return false;
  if ((entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_LOOPBACK) != 0) return false;
  address->interface = entry.ifa_name;
  if (entry.ifa_addr->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(entry.ifa_netmask);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&v4->sin_addr);
    if (bytes[0] == 169 && bytes[1] == 254) return false;  // link-local
    address->text = TextOf(AF_INET, &v4->sin_addr);
    address->prefix =
        CountBits({reinterpret_cast<const unsigned char*>(&mask->sin_addr), sizeof(in_addr)});
    return true;
  }
  if (entry.ifa_addr->sa_family != AF_INET6) return false;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  const auto* mask = reinterpret_cast<const sockaddr_in6*>(entry.ifa_netmask);
  if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) || IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) return false;
  address->text = TextOf(AF_INET6, &v6->sin6_addr);
  address->prefix =
      CountBits({reinterpret_cast<const unsigned char*>(&mask->sin6_addr), sizeof(in6_addr)});
  return true;
}

bool SameNetwork(const NetworkAddress& a, const NetworkAddress& b) {
  const in6_addr left = a.ForPort(0).sin6_addr;
  const in6_addr right = b.ForPort(0).sin6_addr;
  const bool v4 = IN6_IS_ADDR_V4MAPPED(&left) != 0;
  if (v4 != (IN6_IS_ADDR_V4MAPPED(&right) != 0) || a.prefix != b.prefix) return false;
  for (int bit = 0; bit < a.prefix + (v4 ? 96 : 0); ++bit) {
    const int shift = 7 - bit % 8;
    if (((left.s6_addr[bit / 8] ^ right.s6_addr[bit / 8]) >> shift & 1) != 0) return false;
  }
  return true;
}

std::string ListNames(const std::vector<NetworkAddress>& addresses) {
  std::set<std::string> names;
  for (const NetworkAddress& address : addresses) names.insert(address.interface);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

std::vector<NetworkAddress> OnInterfaces(const std::vector<NetworkAddress>& addresses,
                                         const std::string& interfaces) {
  const std::string wanted = "," + interfaces + ",";
  std::vector<NetworkAddress> chosen;
  std::copy_if(
      addresses.begin(), addresses.end(), std::back_inserter(chosen),
      [&](const NetworkAddress& a) { return wanted.find("," + a.interface + ",") != wanted.npos; });
  if (!chosen.empty()) return chosen;
  throw EnvironmentError(
      Concat("--iface: \"", interfaces,
             "\" has no address on this host; interfaces with one: ", ListNames(addresses)));
}

}  // namespace

sockaddr_in6 NetworkAddress::ForPort(int port) const {
  sockaddr_in6 result{};
  result.sin6_family = AF_INET6;
  result.sin6_port = htons(static_cast<std::uint16_t>(port));
  const std::string mapped = text.find(':') == text.npos ? "::ffff:" + text : text;
  if (inet_pton(AF_INET6, mapped.c_str(), &result.sin6_addr) != 1) {
    throw std::invalid_argument(Concat("\"", text, "\": expected an IPv4 or IPv6 address"));
  }
  return result;
}

std::vector<NetworkAddress> ListAddresses() {
  ifaddrs* first = nullptr;
  HOCKNEY_CHECK(getifaddrs(&first));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  std::vector<NetworkAddress> found;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    NetworkAddress address;
    if (Read(*entry, &address)) found.push_back(address);
  }
  return found;
}

std::vector<NetworkAddress> ChooseAddresses(
    const std::vector<std::vector<NetworkAddress>>& everyones, int mine,
    const std::string& interfaces) {
  const std::vector<NetworkAddress>& here = everyones.at(mine);
  std::vector<NetworkAddress> chosen = interfaces.empty() ? here : OnInterfaces(here, interfaces);
  if (interfaces.empty()) {
    std::erase_if(chosen, [&](const NetworkAddress& address) {
      for (std::size_t host = 0; host < everyones.size(); ++host) {
        if (static_cast<int>(host) == mine) continue;
        for (const NetworkAddress& other : everyones[host]) {
          if (other.text == address.text) return true;
        }
      }
      return false;
    });
  }
  // Hosts in one network name space have the same addresses, all of which lead to it.
  const bool all_alike = std::all_of(everyones.begin(), everyones.end(),
                                     [&](const auto& theirs) { return theirs == here; });
  if (chosen.empty() && all_alike) chosen = here;
  if (chosen.empty()) {
    throw EnvironmentError(
        Concat("this host has no address that others can reach it by; interfaces with one: ",
               ListNames(here)));
  }
  return chosen;
}

std::vector<NetworkAddress> NearestFirst(std::vector<NetworkAddress> theirs,
                                         std::span<const NetworkAddress> mine) {
  std::stable_partition(theirs.begin(), theirs.end(), [&](const NetworkAddress& address) {
    return std::any_of(mine.begin(), mine.end(),
                       [&](const NetworkAddress& own) { return SameNetwork(own, address); });
  });
  return theirs;
}

std::vector<std::string> GatherHostNames(Session& session) {
  std::array<char, 256> mine{};
  gethostname(mine.data(), mine.size() - 1);
  std::vector<std::string> names;
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(mine)))) {
    names.emplace_back(reinterpret_cast<const char*>(bytes.data()));
  }
  return names;
}

std::string Serialize(std::span<const NetworkAddress> addresses) {
  std::string text;
  for (const NetworkAddress& a : addresses) {
    text += Concat(a.interface, " ", a.text, " ", a.prefix, "\n");
  }
  return text;
}

std::vector<NetworkAddress> ParseAddresses(const std::string& text) {
  std::vector<NetworkAddress> addresses;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    NetworkAddress address;
    if (!(fields >> address.interface >> address.text >> address.prefix)) {
      throw std::invalid_argument(Concat("\"", line, "\": expected interface, address, bits"));
    }
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace hockney
