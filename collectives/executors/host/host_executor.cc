#include "collectives/executors/host/host_executor.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "collectives/executors/buffer_places.h"
#include "collectives/executors/host/host_machine.h"
#include "collectives/partners.h"
#include "topology/check.h"

namespace hockney {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What a rank does while none of its lanes can move.
class Waiting {
 public:
  Waiting(const Session& session, bool oversubscribed, double timeout_seconds)
      : session_(session),
        spins_before_yield_(oversubscribed ? 16 : 4096),
        timeout_seconds_(timeout_seconds) {}

  void Moved() { spins_ = 0; }
  // Returns false once nothing has moved for the timeout, or nobody is left to wait for.
  bool Pause() {
    ++spins_;
    if (spins_ < spins_before_yield_) {
      __builtin_ia32_pause();
      return true;
    }
    if (spins_ == spins_before_yield_) started_ = SteadyClock::now();
    sched_yield();
    if (spins_ % 256 != 0) return true;
    const std::chrono::duration<double> waited = SteadyClock::now() - started_;
    return waited.count() < timeout_seconds_ && !session_.peer_failed();
  }

 private:
  const Session& session_;
  std::uint64_t spins_before_yield_;
  double timeout_seconds_;
  std::uint64_t spins_ = 0;
  SteadyClock::time_point started_;
};

// Whom a program runs with.
struct Company {
  const Session& session;
  HostDomain& domain;
  HostExecutor::Options options;
};

class HostPrepared : public Prepared {
 public:
  HostPrepared(const Company& company, RankProgram program, Layout layout, const Flow& flow,
               HostCall call)
      : session_(company.session),
        domain_(company.domain),
        options_(company.options),
        program_(std::move(program)),
        layout_(std::move(layout)),
        flow_(flow),
        call_(std::move(call)),
        states_(program_.lanes.size()),
        lane_tokens_(static_cast<std::size_t>(domain_.options().lanes) * domain_.options().lanes) {
    call_.layout = &layout_;
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      call_.groups.push_back(GroupOf(program_, static_cast<int>(lane)));
    }
  }

  void Run() override {
    HostMachine machine(domain_, call_, lane_tokens_);
    Waiting waiting(session_, options_.oversubscribed, options_.timeout_seconds);
    const int lanes = static_cast<int>(program_.lanes.size());
    std::fill(states_.begin(), states_.end(), LaneState{});
    int done = 0;
    while (done < lanes) {
      done = 0;
      bool moved = false;
      for (int lane = 0; lane < lanes; ++lane) {
        const Progress progress =
            Advance(program_.lanes[lane], lane, flow_.slices, states_[lane], machine);
        moved = moved || progress == Progress::kMoved;
        done += progress == Progress::kDone ? 1 : 0;
      }
      if (domain_.remote() != nullptr && done < lanes) LookAtWire(moved);
      if (moved) {
        waiting.Moved();
      } else if (done < lanes && !Pause(waiting)) {
        ThrowTimeout();
      }
    }
    if (domain_.remote() != nullptr) LetMessagesLeave(waiting);
  }

 private:
  // A look costs a system call over TCP; while data moves here the wire can wait a little.
  void LookAtWire(bool moved) {
    constexpr unsigned kMovesBetweenLooks = 4;
    if (!moved || ++moves_ % kMovesBetweenLooks == 0) domain_.remote()->Progress();
  }
  bool Pause(Waiting& waiting) const {
    return (domain_.remote() == nullptr || domain_.remote()->wire().failure().empty()) &&
           waiting.Pause();
  }
  // Nobody moves them between two calls.
  void LetMessagesLeave(Waiting& waiting) const {
    waiting.Moved();
    while (!domain_.remote()->idle()) {
      domain_.remote()->Progress();
      if (!Pause(waiting)) ThrowTimeout();
    }
  }
  [[noreturn]] void ThrowTimeout() const {
    if (domain_.remote() != nullptr && !domain_.remote()->wire().failure().empty()) {
      throw TimeoutError(domain_.remote()->wire().failure() + ", in " +
                         std::string(Name(program_.shape.collective)));
    }
    if (session_.peer_failed()) {
      throw TimeoutError("rank " + std::to_string(domain_.rank()) + " left " +
                         std::string(Name(program_.shape.collective)) +
                         " because another rank failed");
    }
    std::string text = "rank " + std::to_string(domain_.rank()) + " waited " +
                       fmt::format("{:g}", options_.timeout_seconds) + " s in " +
                       std::string(Name(program_.shape.collective)) + ":";
    for (std::size_t lane = 0; lane < states_.size(); ++lane) {
      const LaneState& state = states_[lane];
      if (state.step >= program_.lanes[lane].step_count) continue;
      text += " lane " + std::to_string(lane) + " step " + std::to_string(state.step) + " for " +
              DescribePeers(program_.lanes[lane].steps[state.step], static_cast<int>(lane));
    }
    throw TimeoutError(text);
  }
  std::string DescribePeers(const Step& step, int lane) const;

  const Session& session_;
  HostDomain& domain_;
  HostExecutor::Options options_;
  RankProgram program_;
  Layout layout_;
  Flow flow_;
  HostCall call_;
  std::vector<LaneState> states_;
  std::vector<std::uint64_t> lane_tokens_;
  unsigned moves_ = 0;
};

std::string HostPrepared::DescribePeers(const Step& step, int lane) const {
  const LaneState& state = states_[lane];
  const RankGroup group = call_.groups[lane];
  std::string text;
  const auto add = [&](int peer) {
    text += (text.empty() ? "rank " : ", ") + std::to_string(peer);
    return true;
  };
  if (!state.waited) {
    for (int i = 0; i < step.wait_count; ++i) {
      const Event& event = step.wait[i];
      if (event.kind == EventKind::kLane) text += "lane " + std::to_string(event.peer.start);
      if (event.kind == EventKind::kPeer) add(FindPeer(event.peer, state.counters, group));
      if (event.kind == EventKind::kAllPeers) {
        text += "a token of every rank";
        if (group.members != nullptr) {
          text += " of";
          for (int m = 0; m < group.size; ++m) text += " " + std::to_string(group[m]);
        }
      }
    }
    return text;
  }
  for (int i = 0; i < step.source_count; ++i) {
    if (IsFifo(step.source[i])) ForEachPeer(step.source[i], state.counters, group, add);
  }
  for (int i = 0; i < step.destination_count; ++i) {
    if (IsFifo(step.destination[i])) ForEachPeer(step.destination[i], state.counters, group, add);
  }
  return text;
}

// Working room for the largest step, so that Run allocates nothing.
void ReserveRoom(HostCall& call, const HostDomain& domain, int lanes) {
  const std::size_t operands = static_cast<std::size_t>(domain.ranks()) * kMaxOperands;
  call.sources.reserve(operands);
  call.scaled.reserve(operands);
  call.targets.reserve(operands);
  const std::size_t pairs = static_cast<std::size_t>(lanes) * domain.ranks();
  call.unpacked.resize(pairs * domain.options().limits.packet_slot_bytes);
  call.unpacked_bytes.assign(pairs, static_cast<std::size_t>(-1));
  call.staged.resize(domain.options().limits.packet_slot_bytes);
}

// A program on its way to be prepared.
struct Plan {
  std::string_view name;
  RankProgram program;
  const CallFlow& flow;
  StorePolicy store;
  BufferPlaces places;  // of no rank if the program reaches no peer's memory
};

// Lets the call reach the buffers of the peers on this host that the program works in.
void ReachMemory(const Plan& plan, const HostDomain& domain, HostCall& host) {
  for (const int peer : MemoryPartnersOf(plan.program)) {
    if (!domain.IsLocal(peer)) {
      throw std::invalid_argument(std::string(plan.name) + " reaches the memory of rank " +
                                  std::to_string(peer) + ", which is on another node");
    }
    RequireReachable(plan.name, plan.places, plan.flow.parameters.placement, plan.program.rank,
                     peer);
    host.inputs[peer] = domain.ArenaOf(peer).data() + plan.places.of_rank[peer].input;
    host.outputs[peer] = domain.ArenaOf(peer).data() + plan.places.of_rank[peer].output;
  }
}

std::unique_ptr<Prepared> MakePrepared(const Company& company, const Call& call, Plan plan) {
  HostDomain& domain = company.domain;
  const int rank = domain.rank();
  const int lanes = static_cast<int>(plan.program.lanes.size());
  if (lanes > domain.options().lanes) {
    throw std::invalid_argument(std::string(plan.name) + " needs " + std::to_string(lanes) +
                                " lanes, there are " + std::to_string(domain.options().lanes));
  }
  HostCall host;
  host.inputs.assign(domain.ranks(), nullptr);
  host.outputs.assign(domain.ranks(), nullptr);
  ReachMemory(plan, domain, host);
  host.inputs[rank] = call.input;
  host.outputs[rank] = call.output;
  host.slice_bytes = plan.flow.slice_bytes;
  host.element_bytes = ElementBytes(call.type);
  host.memory_kernel = FindKernel(call.type, call.op, plan.store);
  host.slot_kernel = FindKernel(call.type, call.op, StorePolicy::kCached);
  // The average of one rank is its input, bit for bit.
  host.scales = Reduces(call.shape.collective) && call.op == ReduceOp::kAvg && IsFloat(call.type) &&
                domain.ranks() > 1;
  Layout layout(call.counts, call.type, plan.flow.cut);
  if (plan.program.uses_scratch) {
    host.scratch_room.resize(layout.BufferBytes(rank, Buffer::kScratch));
    host.scratch = host.scratch_room.data();
  }
  ReserveRoom(host, domain, lanes);
  return std::make_unique<HostPrepared>(company, std::move(plan.program), std::move(layout),
                                        plan.flow.flow, std::move(host));
}

}  // namespace

void HostExecutor::Reach(const RankProgram& program) {
  if (domain_.remote() == nullptr) return;
  std::vector<int> remote = PartnersOf(program);
  std::erase_if(remote, [this](int rank) { return domain_.IsLocal(rank); });
  domain_.remote()->wire().Connect(remote, options_.timeout_seconds);
}

HostExecutor::HostExecutor(Session& session, HostDomain& domain, const Options& options)
    : session_(session), domain_(domain), options_(options) {}

std::unique_ptr<Prepared> HostExecutor::Prepare(const Call& call, const Algorithm& row,
                                                const CallFlow& flow, StorePolicy store) {
  const int rank = domain_.rank();
  const Layout layout(call.counts, call.type, flow.cut);
  Parameters parameters = flow.parameters;
  BufferPlaces places = TellPlaces(session_, call, layout, domain_.arena());
  parameters.in_place = parameters.in_place || places.in_place;
  RankProgram program = row.build(call.shape, rank, parameters);
  Reach(program);
  return MakePrepared({session_, domain_, options_}, call,
                      {row.name, std::move(program), flow, store, std::move(places)});
}

std::unique_ptr<Prepared> HostExecutor::PrepareProgram(const Call& call, RankProgram program,
                                                       const CallFlow& flow, StorePolicy store) {
  Reach(program);
  return MakePrepared({session_, domain_, options_}, call,
                      {"the program", std::move(program), flow, store, {}});
}

}  // namespace hockney
