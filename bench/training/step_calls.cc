#include "bench/training/step_calls.h"

#include <algorithm>
#include <stdexcept>

#include "bench/device/nccl_rows.h"
#include "topology/check.h"
#include "tuner/training/step_choice.h"

namespace hockney {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t RoundUp(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

int RankIn(const StepGroup& group, std::int64_t rank) {
  return static_cast<int>(std::find(group.members.begin(), group.members.end(), rank) -
                          group.members.begin());
}

}  // namespace

StepCalls::Key StepCalls::KeyOf(const StepNode& node) {
  return {node.group,       node.stream,        node.bucket, node.counts.collective,
          node.counts.root, node.counts.counts, node.type};
}

StepCalls::StepCalls(Session& world, const HostGround& world_ground, const RankPlacement* placement,
                     const StepGraph& graph, const Options& options)
    : world_(world), graph_(graph), options_(options), nodes_(graph.nodes.size(), nullptr) {
  for (std::size_t group = 0; group < graph.groups.size(); ++group)
    MakeParty(world_ground, placement, group);
  if (options_.implementation != StepImplementation::kHockney) RequireLibrary();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode& node = graph.nodes[i];
    if (node.kind != StepKind::kCollective) continue;
    const Key key = KeyOf(node);
    if (!shared_.contains(key)) {
      Party& party = *parties_[node.group];
      Prepare(node, party.ground->arena().subspan(offsets_.at(key)));
    }
    nodes_[i] = &shared_.at(key);
  }
}

// Returns the bytes of the arena: gradients have places of their own, all else begins behind them.
std::size_t StepCalls::PlaceBuffers(std::size_t group) {
  const int rank = RankIn(graph_.groups[group], graph_.rank);
  std::size_t gradients = 0;
  std::size_t others = 0;
  std::vector<Key> later;
  for (const StepNode& node : graph_.nodes) {
    if (node.kind != StepKind::kCollective || node.group != static_cast<int>(group)) continue;
    const Key key = KeyOf(node);
    if (offsets_.contains(key)) continue;
    const std::size_t bytes =
        RoundUp(BufferSet::Bytes(Layout(node.counts, node.type, Cut{}), rank, false)) + kPage;
    offsets_[key] = gradients;
    if (node.is_gradient) {
      gradients += bytes;
    } else {
      others = std::max(others, bytes);
      later.push_back(key);
    }
  }
  for (const Key& key : later) offsets_[key] = gradients;
  return gradients + others;
}

void StepCalls::MakeParty(const HostGround& world_ground, const RankPlacement* placement,
                          std::size_t group) {
  const auto& members = graph_.groups[group].members;
  Session session =
      world_.Split(static_cast<int>(members.front()), RankIn(graph_.groups[group], graph_.rank));
  Session local = session.SplitSharedMemory();
  Party& party =
      *parties_.emplace_back(std::make_unique<Party>(std::move(session), std::move(local)));
  party.placement = placement == nullptr ? OneNode(static_cast<int>(members.size()))
                                         : PlacementOfMembers(*placement, members);
  party.ground = MakeStepGround({.session = party.session,
                                 .local = party.local,
                                 .beside = world_ground.wire.get(),
                                 .arena_bytes = PlaceBuffers(group)},
                                options_);
}

// Ranks that are not in a group cannot see by themselves what is missing there.
void StepCalls::RequireLibrary() {
  std::string missing;
  for (const auto& party : parties_) {
    if (missing.empty()) missing = party->ground->WhyNoLibrary();
  }
  missing = FirstReason(world_, missing);
  if (!missing.empty()) throw Agreed<EnvironmentError>(missing);
  std::string refused;
  for (const StepNode& node : graph_.nodes) {
    if (node.kind != StepKind::kCollective || !refused.empty()) continue;
    const std::string why = parties_[node.group]->ground->WhyNot(CallOf(node));
    if (!why.empty()) refused = node.name + ": " + why;
  }
  refused = FirstReason(world_, refused);
  if (!refused.empty()) throw Agreed<std::invalid_argument>(refused);
}

// Without buffers.
Call StepCalls::CallOf(const StepNode& node) const {
  Call call;
  call.shape = {node.counts.collective, node.counts.ranks, node.counts.root};
  call.counts = node.counts;
  call.type = node.type;
  // MPI has no mean; frameworks divide before or after the sum.
  const bool takes_mean = node.is_gradient && options_.implementation != StepImplementation::kMpi;
  call.op = takes_mean ? ReduceOp::kAvg : ReduceOp::kSum;
  return call;
}

std::unique_ptr<Prepared> StepCalls::PrepareCall(const StepNode& node, const Call& call,
                                                 std::string* choice_name) {
  Party& party = *parties_[node.group];
  if (options_.implementation != StepImplementation::kHockney) {
    *choice_name = options_.implementation == StepImplementation::kMpi ? "mpi" : "nccl";
    return party.ground->PrepareByLibrary(call);
  }
  const RankPlacement* placement = IsOneNode(party.placement) ? nullptr : &party.placement;
  const StepChoice choice = ChooseForStep(call.counts, call.type, placement);
  const CallFlow flow =
      ChooseFlow(*choice.row, call.counts, call.type, choice.parameters, party.ground->limits());
  *choice_name = choice.Name();
  return party.ground->Prepare(call, *choice.row, flow);
}

void StepCalls::Prepare(const StepNode& node, std::span<std::byte> room) {
  const int rank = parties_[node.group]->session.rank();
  const auto [found, is_new] = shared_.emplace(
      KeyOf(node),
      Shared{.set = BufferSet(Layout(node.counts, node.type, Cut{}), rank, false, room),
             .is_gradient = node.is_gradient});
  Shared& shared = found->second;
  Call& call = shared.call;
  call = CallOf(node);
  call.input = shared.set.input().data();
  call.output = shared.set.output().data();
  shared.set.Refresh();
  parties_[node.group]->ground->Upload(shared.set);
  shared.prepared = PrepareCall(node, call, &shared.choice);
  if (node.stream != StepStream::kPipeline) return;
  Call signal = call;
  signal.counts = EvenCounts(call.shape, 1);
  std::string same;
  shared.signal = PrepareCall(node, signal, &same);
}

void StepCalls::FillGradients(std::uint64_t seed) {
  for (auto& [key, shared] : shared_) {
    if (!shared.is_gradient) continue;
    const Party& party = *parties_[std::get<0>(key)];
    FillForCheck(party.session.rank(), shared.call, shared.set, seed);
    party.ground->Upload(shared.set);
  }
}

CheckResult StepCalls::CheckGradients(std::uint64_t seed) {
  CheckResult result;
  for (auto& [key, shared] : shared_) {
    if (!shared.is_gradient) continue;
    Party& party = *parties_[std::get<0>(key)];
    party.ground->Download(shared.set);
    const CheckResult found = CompareData(party.session, shared.call, shared.set, seed);
    if (result.reason.empty()) result.reason = found.reason;
    result.errors += found.errors;
  }
  return result;
}

}  // namespace hockney
