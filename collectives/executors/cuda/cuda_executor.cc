#include "collectives/executors/cuda/cuda_executor.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "collectives/executors/buffer_places.h"
#include "collectives/executors/cuda/device_program.h"
#include "collectives/executors/cuda/remote_proxy.h"
#include "collectives/executors/local_ranks.h"
#include "collectives/partners.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/concat.h"
#include "topology/deadline.h"

namespace hockney {
namespace {

class CudaCall : public DeviceCall {
 public:
  CudaCall(const Session& session, const DeviceRank& rank, Collective collective,
           std::unique_ptr<DeviceProgram> program, std::unique_ptr<DeviceLaunch> launch,
           double timeout_seconds)
      : DeviceCall(rank.device()),
        session_(session),
        rank_(rank),
        collective_(collective),
        program_(std::move(program)),
        launch_(std::move(launch)),
        timeout_seconds_(timeout_seconds) {}

  DeviceLaunch& launch() override { return *launch_; }

 protected:
  void StartWaiting() override { deadline_.emplace(timeout_seconds_); }
  void Progress() override {
    // The blocks hold the deadline; the host ends them only where it knows more.
    const bool is_over = session_.peer_failed() || !Failure().empty();
    if (is_over) rank_.abort().store(1, std::memory_order_relaxed);
    if (rank_.proxy() != nullptr) rank_.proxy()->Progress();
  }
  void CheckCompleted() override {
    const std::string complaint = program_->Complaint();
    if (complaint.empty()) return;
    if (!Failure().empty()) throw TimeoutError(Concat(Failure(), ", in ", Name(collective_)));
    if (session_.peer_failed()) {
      throw TimeoutError(Concat("rank ", rank_.rank(), " left ", Name(collective_),
                                " because another rank failed"));
    }
    throw TimeoutError(Concat("rank ", rank_.rank(), " waited ", timeout_seconds_, " s in ",
                              Name(collective_), " on the device: ", complaint));
  }
  bool has_left() override {
    return rank_.proxy() == nullptr || rank_.proxy()->idle() || !Failure().empty();
  }
  std::string WhyNotLeft() override {
    if (!deadline_->passed()) return "";
    return Concat("rank ", rank_.rank(), " waited ", timeout_seconds_,
                  " s for its last messages of ", Name(collective_));
  }

 private:
  // Why the proxy cannot go on, or "".
  std::string Failure() const { return rank_.proxy() == nullptr ? "" : rank_.proxy()->failure(); }

  const Session& session_;
  const DeviceRank& rank_;
  Collective collective_;
  std::unique_ptr<DeviceProgram> program_;
  std::unique_ptr<DeviceLaunch> launch_;
  double timeout_seconds_;
  std::optional<Deadline> deadline_;
};

}  // namespace

CudaDomain::CudaDomain(Session& session, Device& device, const DomainOptions& options,
                       PeerMemoryKind kind)
    : options_(options) {
  Join(session, session, device, kind, nullptr);
}

CudaDomain::CudaDomain(Session& session, const Hosts& hosts, Device& device,
                       const DomainOptions& options, PeerMemoryKind kind)
    : options_(options) {
  Join(session, hosts.local, device, kind, &hosts.proxy);
}

void CudaDomain::Join(Session& session, Session& local, Device& device, PeerMemoryKind kind,
                      RemoteProxy* proxy) {
  const SegmentPlan plan(options_.lanes, local.ranks(), options_.limits);
  segments_ = ShareSegments(local, device, plan.ControlBytes() + options_.arena_bytes, kind);
  const std::vector<int> numbers = FindLocalNumbers(session, local);
  std::vector<std::byte*> begins;
  begins.reserve(numbers.size());
  for (const int number : numbers) {
    begins.push_back(number < 0 ? nullptr : segments_.begins[number]);
  }
  RunOnAllOrThrow(session, [&] {
    rank_ = std::make_unique<DeviceRank>(
        device, plan, DeviceRank::Place{.rank = session.rank(), .segments = begins, .proxy = proxy},
        options_.first_count);
  });
}

CudaExecutor::CudaExecutor(Session& session, CudaDomain& domain, const Options& options)
    : session_(session), domain_(domain), options_(options) {}

std::unique_ptr<DeviceCall> CudaExecutor::Prepare(const Call& call, const Algorithm& row,
                                                  const CallFlow& flow) {
  const DeviceRank& rank = domain_.rank();
  const Layout layout(call.counts, call.type, flow.cut);
  const BufferPlaces places =
      TellPlaces(session_, call, layout, {domain_.arena(), domain_.arena_bytes()});
  Parameters parameters = flow.parameters;
  parameters.in_place = parameters.in_place || places.in_place;
  std::unique_ptr<DeviceCall> prepared;
  RankProgram program;
  RunOnAllOrThrow(session_, [&] {
    program = row.build(call.shape, rank.rank(), parameters);
    CheckResidency(program, call);
    std::vector<DeviceBuffers> buffers(rank.ranks());
    for (const int peer : MemoryPartnersOf(program)) {
      if (!rank.IsLocal(peer)) {
        throw std::invalid_argument(std::string(row.name) + " reaches the memory of rank " +
                                    std::to_string(peer) + ", which is on another node");
      }
      RequireReachable(row.name, places, parameters.placement, rank.rank(), peer);
      buffers[peer] = {rank.arena(peer) + places.of_rank[peer].input,
                       rank.arena(peer) + places.of_rank[peer].output};
    }
    buffers[rank.rank()] = {call.input, call.output};
    prepared = MakeCall(call, {program, layout, flow, options_.timeout_seconds}, buffers);
  });
  Reach(program);
  return prepared;
}

std::unique_ptr<DeviceCall> CudaExecutor::PrepareProgram(const Call& call,
                                                         const RankProgram& program,
                                                         const CallFlow& flow) {
  const Layout layout(call.counts, call.type, flow.cut);
  std::unique_ptr<DeviceCall> prepared;
  RunOnAllOrThrow(session_, [&] {
    CheckResidency(program, call);
    std::vector<DeviceBuffers> buffers(domain_.rank().ranks());
    buffers[domain_.rank().rank()] = {call.input, call.output};
    prepared = MakeCall(call, {program, layout, flow, options_.timeout_seconds}, buffers);
  });
  Reach(program);
  return prepared;
}

std::unique_ptr<DeviceCall> CudaExecutor::MakeCall(const Call& call, const ProgramCall& program,
                                                   std::span<const DeviceBuffers> buffers) const {
  const DeviceRank& rank = domain_.rank();
  auto on_device = std::make_unique<DeviceProgram>(rank, program, buffers);
  auto launch =
      rank.device().PrepareLaunch({&on_device->call(), 1}, call.type, call.op, options_.threads);
  return std::make_unique<CudaCall>(session_, rank, call.shape.collective, std::move(on_device),
                                    std::move(launch), options_.timeout_seconds);
}

// Connects to the partners on other hosts.
void CudaExecutor::Reach(const RankProgram& program) {
  const DeviceRank& rank = domain_.rank();
  if (rank.proxy() == nullptr) return;
  std::vector<int> others = PartnersOf(program);
  std::erase_if(others, [&](int peer) { return rank.IsLocal(peer); });
  rank.proxy()->Connect(others, options_.timeout_seconds);
}

void CudaExecutor::CheckResidency(const RankProgram& program, const Call& call) const {
  const int resident = domain_.rank().device().ResidentBlocks(call.type, call.op, options_.threads);
  const std::size_t needed = program.lanes.size() * options_.ranks_on_device;
  if (needed <= static_cast<std::size_t>(resident)) return;
  throw std::invalid_argument(std::to_string(program.lanes.size()) + " lanes of " +
                              std::to_string(options_.ranks_on_device) +
                              " ranks on the device need as many blocks at a " +
                              "time, expected at most " + std::to_string(resident) + " of " +
                              std::to_string(options_.threads) + " threads");
}

}  // namespace hockney
