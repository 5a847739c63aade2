#include "collectives/executors/local_ranks.h"

#include <cstring>
#include <span>

namespace hockney {

std::vector<int> FindLocalNumbers(const Session& session, Session& local) {
  std::vector<int> numbers(session.ranks(), -1);
  const int mine = session.rank();
  int number = 0;
  for (const auto& bytes : local.AllGather(std::as_bytes(std::span(&mine, 1)))) {
    int rank = 0;
    std::memcpy(&rank, bytes.data(), sizeof rank);
    numbers.at(rank) = number++;
  }
  return numbers;
}

}  // namespace hockney
