#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "bench/device/device_source.h"
#include "topology/session.h"

namespace hockney {

// The device of a rank: that of its number on the host, or, where there are fewer, shared with
// others in turn. A launcher may show each rank one device of its own.
class DeviceOfRank {
 public:
  // Collective over `session`; `local` is its part on this host. Throws EnvironmentError, on all
  // ranks alike, if some rank has none, or if ranks that are threads would share a GPU.
  DeviceOfRank(Session& session, Session& local, const DeviceSource& source);

  Device& device() const { return *device_; }
  // Opens the same device once more, for the calling thread: what is enqueued there does not wait
  // for what is enqueued here. Throws as the source does, which is that of the constructor.
  std::unique_ptr<Device> OpenAgain(const DeviceSource& source) const {
    return source.open(ordinal_);
  }
  // The most ranks that any device of the run has: their blocks are there at the same time.
  int ranks_on_device() const { return ranks_on_device_; }
  std::size_t cache_bytes() const { return cache_bytes_; }  // the largest of any rank's

  // Rank, name and id of every rank's device, for run.json. Collective; every rank gets the same.
  nlohmann::ordered_json Facts(Session& session) const;

 private:
  int ordinal_ = 0;
  std::unique_ptr<Device> device_;
  int ranks_on_device_ = 1;
  std::size_t cache_bytes_ = 0;
};

}  // namespace hockney
