#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "topology/session.h"

namespace hockney {

// Returns every rank's value in rank order, on every rank. Collective.
template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> GatherValues(Session& session,
                                                                     const T& mine) {
  std::vector<T> all;
  all.reserve(session.ranks());
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(&mine, 1)))) {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    all.push_back(value);
  }
  return all;
}

// The largest and the smallest of them. Collective.
template <class T>
T MaxOverRanks(Session& session, const T& mine) {
  return std::ranges::max(GatherValues(session, mine));
}
template <class T>
T MinOverRanks(Session& session, const T& mine) {
  return std::ranges::min(GatherValues(session, mine));
}

}  // namespace hockney
