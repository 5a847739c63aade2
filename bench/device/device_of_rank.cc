#include "bench/device/device_of_rank.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "topology/agree.h"
#include "topology/check.h"
#include "topology/concat.h"
#include "topology/gather_json.h"

namespace hockney {

DeviceOfRank::DeviceOfRank(Session& session, Session& local, const DeviceSource& source) {
  RunOnAllOrThrow(session, [&] {
    const CudaDevices devices = source.find();
    if (devices.count == 0) throw EnvironmentError(Concat("no GPU: ", devices.reason));
    ordinal_ = local.rank() % devices.count;
    device_ = source.open(ordinal_);
  });
  int mine = 0;
  const std::string id = device_->id();
  for (const auto& theirs : GatherJson(local, id)) mine += theirs == id ? 1 : 0;
  for (const auto& theirs : GatherJson(session, {mine, device_->cache_bytes()})) {
    ranks_on_device_ = std::max(ranks_on_device_, theirs[0].get<int>());
    cache_bytes_ = std::max(cache_bytes_, theirs[1].get<std::size_t>());
  }
  // One thread's copy would wait for the other's blocks, which wait for that thread.
  if (ranks_on_device_ > 1 && session.kind() == RankKind::kThreads &&
      device_->stream() != nullptr) {
    throw Agreed<EnvironmentError>(
        Concat(ranks_on_device_,
               " ranks that are threads on one GPU: expected a GPU for each, or "
               "processes (--local-processes or mpirun)"));
  }
}

nlohmann::ordered_json DeviceOfRank::Facts(Session& session) const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const nlohmann::ordered_json mine = {{"name", device_->name()}, {"id", device_->id()}};
  for (const auto& theirs : GatherJson(session, mine)) {
    all.push_back({{"rank", all.size()}, {"name", theirs["name"]}, {"id", theirs["id"]}});
  }
  return all;
}

}  // namespace hockney
