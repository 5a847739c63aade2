#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/device/device_of_rank.h"
#include "collectives/executors/cuda/ucx_proxy.h"
#include "collectives/wire/ucx_wire.h"

namespace hockney {

// The device of a rank for a step: one queue of it communicates, another computes.
class StepDevices {
 public:
  // Collective over `session`; `local` is its part on this host. Throws as DeviceOfRank does.
  StepDevices(Session& session, Session& local, const DeviceSource& source);

  const DeviceOfRank& communicating() const { return communicating_; }
  Device& computing() const { return *computing_; }
  // How ranks of different hosts reach each other's devices; staged until ChoosePath.
  ProxyPath path() const { return path_; }

  // Chooses it: by the network cards themselves where every rank has what that needs. Collective.
  void ChoosePath(Session& session, const UcxWire& wire);
  // Adds what run.json says of the devices. Collective.
  void AddFacts(Session& session, nlohmann::ordered_json* run) const;

 private:
  DeviceOfRank communicating_;
  std::unique_ptr<Device> computing_;
  ProxyPath path_ = ProxyPath::kStaged;
  std::string why_no_gdr_ = "all ranks are on one host";
};

}  // namespace hockney
