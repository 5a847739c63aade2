#include "tuner/training/builders/step_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace hockney {
namespace {

constexpr int kDimensions = static_cast<int>(ParallelDimension::kExpertData) + 1;

}  // namespace

StepBuilder::StepBuilder(const StepPlan& plan, std::int64_t rank)
    : plan_(plan), rank_(rank), place_(PlaceOf(plan.degrees, rank)), groups_(kDimensions, -1) {
  graph_.rank = rank;
  AddFamily(ParallelDimension::kDataContext, "data");
  AddFamily(ParallelDimension::kTensor, "tensor");
  AddFamily(ParallelDimension::kContext, "context");
  if (plan.degrees.ep > 1) {
    AddFamily(ParallelDimension::kExpert, "expert");
    AddFamily(ParallelDimension::kExpertData, "expert data");
  } else {
    groups_[static_cast<int>(ParallelDimension::kExpertData)] =
        Group(ParallelDimension::kDataContext);
  }
  AddPipelineFamilies();
  AddShardFamilies();
}

void StepBuilder::AddFamily(ParallelDimension dimension, const char* name) {
  const StridedGroup group = GroupOf(plan_.degrees, dimension, rank_);
  if (group.size == 1) return;
  groups_[static_cast<int>(dimension)] = static_cast<int>(graph_.groups.size());
  graph_.groups.push_back({name, Members(group)});
}

// Pairs of neighbours: stages 0 and 1, 2 and 3, ...; then 1 and 2, 3 and 4, ...; the last and the
// first, which an odd number of stages needs a third family for.
void StepBuilder::AddPipelineFamilies() {
  const std::int64_t stages = plan_.degrees.pp;
  if (stages == 1) return;
  const std::vector<std::int64_t> line =
      Members(GroupOf(plan_.degrees, ParallelDimension::kPipeline, rank_));
  const bool wraps = plan_.chunks > 1 && stages > 2;
  pipeline_groups_.assign(stages, -1);
  const auto add = [&](std::int64_t family, const std::vector<std::int64_t>& firsts) {
    StepGroup group{fmt::format("pipeline {}", family), {rank_}};
    for (const std::int64_t first : firsts) {
      const std::int64_t second = (first + 1) % stages;
      pipeline_groups_[first] = static_cast<int>(graph_.groups.size());
      if (place_.pp != first && place_.pp != second) continue;
      group.members = {line[std::min(first, second)], line[std::max(first, second)]};
    }
    graph_.groups.push_back(std::move(group));
  };
  std::vector<std::int64_t> even;
  std::vector<std::int64_t> odd;
  for (std::int64_t first = 0; first + 1 < stages; ++first)
    (first % 2 == 0 ? even : odd).push_back(first);
  const bool wrap_is_odd = stages % 2 == 0;
  if (wraps && wrap_is_odd) odd.push_back(stages - 1);
  add(0, even);
  if (!odd.empty()) add(1, odd);
  if (wraps && !wrap_is_odd) add(2, {stages - 1});
  if (stages == 2) pipeline_groups_[1] = pipeline_groups_[0];
}

void StepBuilder::AddShardFamilies() {
  shard_group_ = Group(ParallelDimension::kDataContext);
  if (plan_.sharding != Sharding::kHybrid || shard_group_ < 0) return;
  const std::vector<std::int64_t> data = graph_.groups[shard_group_].members;
  const auto place = std::find(data.begin(), data.end(), rank_) - data.begin();
  const std::int64_t size = plan_.shard_ranks;
  StepGroup shard{"shard", {}};
  StepGroup replicas{"replicas", {}};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(data.size()); ++i) {
    if (i / size == place / size) shard.members.push_back(data[i]);
    if (i % size == place % size) replicas.members.push_back(data[i]);
  }
  shard_group_ = -1;
  if (shard.members.size() > 1) {
    shard_group_ = static_cast<int>(graph_.groups.size());
    graph_.groups.push_back(std::move(shard));
  }
  if (replicas.members.size() > 1) {
    replica_group_ = static_cast<int>(graph_.groups.size());
    graph_.groups.push_back(std::move(replicas));
  }
}

int StepBuilder::PipelineGroup(std::int64_t from) const { return pipeline_groups_[from]; }

void StepBuilder::Between(double begin, double end) {
  for (std::size_t i = 0; i < in_slot_.size(); ++i) {
    times_[in_slot_[i]] = begin_ + (end_ - begin_) * static_cast<double>(i + 1) /
                                       static_cast<double>(in_slot_.size() + 1);
  }
  in_slot_.clear();
  begin_ = begin;
  end_ = end;
}

int StepBuilder::Add(StepNode node) {
  std::erase(node.after, -1);
  std::sort(node.after.begin(), node.after.end());
  node.after.erase(std::unique(node.after.begin(), node.after.end()), node.after.end());
  const int number = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back(std::move(node));
  times_.push_back(at_);
  if (at_ < 0) in_slot_.push_back(number);
  at_ = -1;
  return number;
}

int StepBuilder::Compute(StepNode node) {
  node.after = std::exchange(needed_, {});
  return last_compute_ = Add(std::move(node));
}

int StepBuilder::Call(StepCall call) { return Call(std::move(call), {last_compute_}); }

int StepBuilder::Call(StepCall call, std::vector<int> after) {
  StepNode node;
  node.name = std::move(call.name);
  node.kind = StepKind::kCollective;
  node.stream = call.stream;
  node.after = std::move(after);
  node.group = call.group;
  node.counts = std::move(call.counts);
  node.type = call.type;
  return Add(std::move(node));
}

void StepBuilder::Need(int node) { needed_.push_back(node); }

StepGraph StepBuilder::Finish() {
  Between(end_, end_ + 1);
  std::vector<int> order(graph_.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    const StepNode& left = graph_.nodes[a];
    const StepNode& right = graph_.nodes[b];
    return std::tuple(times_[a], left.group, left.counts.root) <
           std::tuple(times_[b], right.group, right.counts.root);
  });
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  std::vector<StepNode> nodes;
  nodes.reserve(order.size());
  for (const int old : order) {
    nodes.push_back(std::move(graph_.nodes[old]));
    for (int& before : nodes.back().after) before = place[before];
  }
  graph_.nodes = std::move(nodes);
  return std::move(graph_);
}

}  // namespace hockney
