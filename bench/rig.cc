#include "bench/rig.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "bench/device/gdr.h"
#include "bench/host_ground.h"
#include "bench/json_values.h"
#include "bench/probes.h"
#include "bench/signals.h"
#include "bench/tuned_choices.h"
#include "collectives/levels.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/gather_json.h"
#include "topology/network.h"
#include "topology/peer_links.h"

namespace hockney {
namespace {

// The double tree takes four lanes of the program for each data lane, more than any other
// algorithm inside one host.
constexpr int kLanesPerDataLane = 4;

// The number of ranks of each host, by its first rank, the same on all. Collective.
std::map<int, std::size_t> CountRanks(Session& session, Session& local) {
  std::map<int, std::size_t> ranks;
  for (const int first : FirstRanksOfHosts(session, local)) ++ranks[first];
  return ranks;
}

// The largest cache of any rank, for all: buffers must be laid out alike. Collective.
LastLevelCache AgreeOnCache(Session& session, const LastLevelCache& mine) {
  LastLevelCache largest = mine;
  const nlohmann::ordered_json json = {{"bytes", mine.bytes}, {"source", mine.source}};
  for (const auto& theirs : GatherJson(session, json)) {
    const auto bytes = theirs["bytes"].get<std::uint64_t>();
    if (bytes > largest.bytes) largest = {.bytes = bytes, .source = theirs["source"]};
  }
  return largest;
}

}  // namespace

Rig::Rig(Session& session, const SweepOptions& options, const Launch& launch)
    : session_(session),
      options_(options),
      launch_(launch),
      local_(session.SplitSharedMemory()),
      place_(PlaceRank(session, local_)),
      llc_(AgreeOnCache(session, FindLastLevelCache(*place_.machine, options.llc_bytes))),
      groups_(session, options.split),
      group_local_(groups_.session().SplitSharedMemory()) {
  const auto ranks = CountRanks(groups_.session(), group_local_);
  group_hosts_ = static_cast<int>(ranks.size());
  for (const auto& [first, count] : ranks) most_local_ranks_ = std::max(most_local_ranks_, count);
}

std::size_t Rig::ArenaBytes(std::span<const Cell> cells) const {
  std::size_t bytes = 0;
  for (const Cell& cell : cells) {
    bytes = std::max(bytes, CellArenaBytes(options_, cell, llc_.bytes));
  }
  return bytes;
}

DomainOptions Rig::OptionsOfDomain(std::span<const Cell> cells) const {
  DomainOptions options;
  const int asked_lanes = options_.lanes.empty()
                              ? MostUsualLanes(options_.memory, group_hosts_)
                              : *std::max_element(options_.lanes.begin(), options_.lanes.end());
  const int data_lanes = std::max(asked_lanes, MostTunedLanes(options_));
  options.lanes = (group_hosts_ == 1 ? kLanesPerDataLane : kMostLanesPerDataLane) * data_lanes;
  FitSlots(options, most_local_ranks_, on_devices() ? kDeviceSlotRoomBytes : kSlotRoomBytes);
  options.arena_bytes = ArenaBytes(cells);
  return options;
}

// Where the group's ranks are, for programs that work by hosts; nothing on one host.
void Rig::FindPlacement() {
  if (place_.hosts == 1) return;
  SwitchTree tree = ReadSwitchTree(session_, options_.topology);
  if (group_hosts_ == 1) return;
  const Topology topology = CollectTopology(groups_.session(), group_local_,
                                            ReportOfThisRank(group_local_), std::move(tree));
  placement_ = PlacementOf(topology);
}

// Our own barrier, used to start every sample of every competitor.
std::unique_ptr<Prepared> Rig::PrepareBarrier() {
  const bool is_one_host = place_.hosts == 1;
  if (!on_devices()) {
    return hockney::PrepareBarrier(*common().executor, *common().domain, is_one_host);
  }
  const Call call = BarrierCall(session_.ranks());
  const Algorithm& row = BarrierAlgorithm(is_one_host);
  DeviceGround& ground = *common().device;
  auto barrier =
      ground.Prepare(call, row, ChooseFlow(row, call.counts, call.type, {}, ground.limits()));
  device_clock_ = std::make_unique<DeviceClock>(ground.device(), *barrier);
  return barrier;
}

void Rig::CollectFactsOfRun() {
  facts_ = CollectFacts(session_, place_,
                        {.command_line = launch_.arguments(),
                         .rank_source = launch_.rank_source(),
                         .mpi_library = mpi_ ? mpi_->Library() : ""});
  const std::string single_copy = mpi_ ? mpi_->SingleCopy() : "";
  if (mpi_) {
    const std::string attach = ProbeCrossMemoryAttach(local_);
    facts_["cross_memory_attach"] = attach;
    // MPI libraries do not say that they were refused it, and go another way or fail.
    if (session_.rank() == 0 && attach.starts_with("denied") && single_copy == "cma") {
      fmt::print(stderr, "hockney: cross-memory attach is {}; MPI's rows go another way\n", attach);
    }
  }
  facts_["last_level_cache"] = {{"bytes", llc_.bytes}, {"source", llc_.source}};
  context_.shaping = ReadShaping(session_, &facts_["shaping"]);
  facts_["groups"] = groups_.Facts();
  if (on_devices()) {
    facts_["devices"] = device_->Facts(session_);
    facts_["ranks_on_device"] = device_->ranks_on_device();
    facts_["device_launch_us"] = device_clock_->LaunchNs() / 1e3;
    facts_["nccl"] = NcclFacts(nccl_);
    facts_["no_gdr_because"] = TextOrNull(why_no_gdr_);
  }
  facts_["oversubscribed"] = place_.oversubscribed;
  facts_["page_kib"] =
      on_devices() ? nlohmann::ordered_json() : nlohmann::ordered_json(ours_.domain->page_kib());
  facts_["mpi_module"] = mpi_ ? nlohmann::ordered_json(mpi_->Module()) : nullptr;
  facts_["mpi_single_copy"] = single_copy.empty() ? nullptr : nlohmann::ordered_json(single_copy);
}

void Rig::NoteTransports() {
  if (place_.hosts == 1) return;
  nlohmann::ordered_json mine = nlohmann::ordered_json::array();
  for (const int peer : ours_.wire == nullptr ? std::vector<int>() : ours_.wire->connected()) {
    mine.push_back({{"from", session_.rank()},
                    {"to", groups_.members()[peer]},
                    {"transport", ours_.wire->Transport(peer)},
                    {"device", ours_.wire->Device(peer)}});
  }
  facts_["transports"] = nlohmann::ordered_json::array();
  for (const auto& theirs : GatherJson(session_, mine)) {
    for (const auto& pair : theirs) facts_["transports"].push_back(pair);
  }
}

// While ranks wait for all others, what their groups still have to send must move as well.
std::unique_ptr<UcxWire> Rig::MakeWire(Session& session, Session& local) const {
  return MakeHostWire(session, local, launch_.interfaces(), all_.wire.get());
}

Rig::Ground Rig::MakeGround(Session& session, Session& local, const DomainOptions& options) {
  if (on_devices()) return MakeDeviceGround(session, local, options);
  HostGround host = MakeHostGround(session, local,
                                   {.domain = options,
                                    .executor = {.oversubscribed = place_.oversubscribed,
                                                 .timeout_seconds = options_.timeout_seconds},
                                    .interfaces = launch_.interfaces(),
                                    .beside = all_.wire.get()});
  return {.wire = std::move(host.wire),
          .domain = std::move(host.domain),
          .executor = std::move(host.executor)};
}

// By the network cards themselves where every rank has what that needs.
void Rig::ChoosePath(const UcxWire& wire) {
  why_no_gdr_ = FirstWhyNoGdr(session_, device_->device(), wire);
  path_ = why_no_gdr_.empty() ? ProxyPath::kDirect : ProxyPath::kStaged;
}

// After the ranks are connected, since UCX may have found no card that reaches the other hosts.
void Rig::RequireGdr() const {
  if (!options_.requires_gdr) return;
  if (!why_no_gdr_.empty()) {
    throw Agreed<EnvironmentError>(fmt::format("--require gdr: {}", why_no_gdr_));
  }
  const UcxWire& wire = *common().wire;
  RunOnAllOrThrow(session_, [&] {
    for (const int peer : wire.connected()) {
      const std::string transport = wire.Transport(peer);
      if (transport != "ucx:tcp") continue;
      throw EnvironmentError(
          fmt::format("--require gdr: UCX takes {} to rank {}, expected RDMA", transport, peer));
    }
  });
}

// The domain of the host is only memory then.
Rig::Ground Rig::MakeDeviceGround(Session& session, Session& local, const DomainOptions& options) {
  Ground ground;
  ground.wire = MakeWire(session, local);
  if (!path_ && ground.wire != nullptr) ChoosePath(*ground.wire);
  ground.domain = std::make_unique<HostDomain>(
      local, DomainOptions{.arena_bytes = options.arena_bytes, .lanes = 1});
  ground.device = std::make_unique<DeviceGround>(
      session, local, DeviceGround::Parts{*device_, ground.wire.get(), ground.domain->arena()},
      DeviceGround::Options{.domain = options,
                            .kind = options_.peer_memory,
                            .path = path_.value_or(ProxyPath::kStaged),
                            .timeout_seconds = options_.timeout_seconds});
  return ground;
}

// What starts the ranks together, and tells the time.
void Rig::MakeClocks() {
  barrier_ = PrepareBarrier();
  if (place_.hosts == 1 && !on_devices()) {
    HostDomain& domain = *common().domain;
    tick_ = std::make_unique<TickStart>(domain, options_.timeout_seconds);
    if (!place_.oversubscribed && session_.ranks() > 1) {
      line_probe_ = std::make_unique<LineProbe>(domain, options_.timeout_seconds);
    }
  }
  launch_.watchdog().SetActivity("the comparison of clocks");
  const auto connect = [this](Session& among) {
    Session local = among.SplitSharedMemory();
    return ConnectHosts(among, local, launch_.interfaces());
  };
  // Devices have clocks of their own, so each rank's own time is all there is.
  clock_ = std::make_unique<RunClock>(
      session_, on_devices() ? ClockKind::kLocal : options_.clock,
      RunClock::Place{.clock_name = ClockName(*place_.machine), .host = place_.host}, connect);
}

void Rig::MakeTimer() {
  timer_ = std::make_unique<Timer>(session_,
                                   TimerParts{.barrier = barrier_.get(),
                                              .tick = tick_.get(),
                                              .watchdog = &launch_.watchdog(),
                                              .clock = clock_->kind(),
                                              .global = clock_->global(),
                                              .members = groups_.members()},
                                   [] { return InterruptGuard::Signal() != 0; });
}

void Rig::SetUp(std::span<const Cell> cells) {
  FindPlacement();
  if (on_devices()) {
    device_ = std::make_unique<DeviceOfRank>(session_, local_, launch_.devices());
    llc_ = {.bytes = options_.llc_bytes.value_or(device_->cache_bytes()),
            .source = options_.llc_bytes ? llc_.source : "second-level cache of the GPU"};
  }
  if (groups_.is_split()) all_ = MakeGround(session_, local_, {.lanes = 1});
  ours_ = MakeGround(groups_.session(), group_local_, OptionsOfDomain(cells));
  const auto& wanted = options_.implementations;
  const auto wants = [&](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  if (session_.mpi_communicator() != nullptr && wants("mpi") && !on_devices()) {
    mpi_ = std::make_unique<MpiBaseline>(groups_.session(), !options_.mpi_algorithms.empty());
  }
  if (on_devices() && wants("nccl")) {
    nccl_ = MakeNcclRows(groups_.session(), device_->device(), options_);
  }
  MakeClocks();
  RequireGdr();
  MakeTimer();
  if (options_.buffers == BufferState::kCold && !on_devices()) {
    flusher_ = std::make_unique<CacheFlusher>(2 * llc_.bytes);
  }
  context_ = {
      .groups = &groups_,
      .session = &groups_.session(),
      .domain = ours_.domain.get(),
      .executor = ours_.executor.get(),
      .device = ours_.device.get(),
      .device_clock = device_clock_.get(),
      .nccl = nccl_,
      .wire = ours_.wire.get(),
      .mpi = mpi_.get(),
      .timer = timer_.get(),
      .clock = clock_->kind(),
      .barrier = barrier_.get(),
      .line_probe = line_probe_.get(),
      .flusher = flusher_.get(),
      .verified = &verified_,
      .options = &options_,
      .placement = placement_ ? &*placement_ : nullptr,
      .llc = llc_,
      .hosts = group_hosts_,
      .oversubscribed = on_devices() ? device_->ranks_on_device() > 1 : place_.oversubscribed,
      .ranks_on_device = on_devices() ? device_->ranks_on_device() : 0,
      .watchdog = &launch_.watchdog()};
  CollectFactsOfRun();
}

}  // namespace hockney
