#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/training/builders/gradients.h"
#include "tuner/training/shard_padding.h"

namespace hockney {
namespace {

// kZero3 and kHybrid: a unit at a time is gathered, used and dropped, its gradients
// reduce-scattered after its backward pass. Source: pytorch/pytorch
// torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py.
class Gathered : public DataParallel {
 public:
  Gathered(StepBuilder& builder, const std::vector<LocalUnit>& units)
      : builder_(builder),
        plan_(builder.plan()),
        units_(units),
        dense_(GroupOf(builder.shard_group())),
        experts_(GroupOf(builder.Group(ParallelDimension::kExpertData))) {}

  void BeforeUnit(const UnitPass& pass) override;
  void AfterUnit(const UnitPass& pass) override;
  void Finish() override;

 private:
  ShardGroup GroupOf(int group) const { return {group, group < 0 ? 1 : builder_.SizeOf(group)}; }
  std::int64_t Padded(const std::vector<ModelParameter>& parameters,
                      const ShardGroup& group) const {
    return PaddedElements(ElementsOf(parameters), group.ranks, plan_.shard_alignment);
  }
  std::string NameOf(const LocalUnit& unit) const { return plan_.model.units[unit.unit].name; }
  std::vector<int> Gather(const UnitPass& pass, std::size_t i);
  std::vector<int> Reduce(const LocalUnit& unit);
  int ReduceShard(const std::string& name, const ShardGroup& group,
                  const std::vector<ModelParameter>& parameters);

  StepBuilder& builder_;
  const StepPlan& plan_;
  const std::vector<LocalUnit>& units_;
  ShardGroup dense_;
  ShardGroup experts_;
  // Of the pass under way, by place in it.
  int before_pass_ = -1;  // last computing node
  std::vector<std::vector<int>> gathers_;
  std::vector<int> computed_;
  std::vector<std::vector<int>> reductions_;
  std::vector<int> unfinished_;  // reductions of all passes that nothing has waited for
};

// No more units are alive than those ahead and the one that computes: what was before them has to
// be done with.
std::vector<int> Gathered::Gather(const UnitPass& pass, std::size_t i) {
  const std::size_t alive = 1 + static_cast<std::size_t>(plan_.prefetch);
  const int freed = i >= alive ? computed_[i - alive] : before_pass_;
  const LocalUnit& unit = *pass.units[i];
  std::vector<int> calls;
  const auto gather = [&](const char* what, const ShardGroup& group,
                          const std::vector<ModelParameter>& parameters) {
    if (group.group < 0 || parameters.empty()) return;
    const std::string name = fmt::format("gather {} for {}{}", NameOf(unit), Name(pass.work), what);
    calls.push_back(
        builder_.Call(ShardCall(name, StepStream::kParameters, Collective::kAllGather, group,
                                {Padded(parameters, group), parameters.front().type}),
                      {freed}));
  };
  gather("", dense_, unit.dense);
  gather(", experts", experts_, unit.experts);
  return calls;
}

void Gathered::BeforeUnit(const UnitPass& pass) {
  if (pass.i == 0) {
    before_pass_ = builder_.last_compute();
    gathers_.clear();
    computed_.clear();
    reductions_.clear();
  }
  const std::size_t wanted = pass.i + 1 + static_cast<std::size_t>(plan_.prefetch);
  while (gathers_.size() < std::min(wanted, pass.units.size()))
    gathers_.push_back(Gather(pass, gathers_.size()));
  for (const int call : gathers_[pass.i]) builder_.Need(call);
  // One reduction is under way at most: that of the unit just done.
  if (pass.work != StepWork::kBackward || pass.i < 2) return;
  for (const int call : reductions_[pass.i - 2]) builder_.Need(call);
}

int Gathered::ReduceShard(const std::string& name, const ShardGroup& group,
                          const std::vector<ModelParameter>& parameters) {
  const DataType type = plan_.gradient_type.value_or(parameters.front().type);
  const std::int64_t elements = Padded(parameters, group);
  const int node = builder_.Call(
      ShardCall(name, StepStream::kGradients, Collective::kReduceScatter, group, {elements, type}));
  StepNode& added = builder_.graph().nodes[node];
  added.is_gradient = true;
  added.padding_bytes =
      (elements - ElementsOf(parameters)) * static_cast<std::int64_t>(ElementBytes(type));
  return node;
}

std::vector<int> Gathered::Reduce(const LocalUnit& unit) {
  std::vector<int> calls;
  if (dense_.group >= 0 && !unit.dense.empty()) {
    calls.push_back(ReduceShard("reduce " + NameOf(unit), dense_, unit.dense));
  }
  if (experts_.group >= 0 && !unit.experts.empty()) {
    calls.push_back(ReduceShard("reduce " + NameOf(unit) + ", experts", experts_, unit.experts));
  }
  const int replicas = builder_.replica_group();
  if (replicas < 0 || unit.dense.empty()) return calls;
  const std::int64_t shard = Padded(unit.dense, dense_) / dense_.ranks;
  StepCall call{"reduce replicas of " + NameOf(unit), StepStream::kReplicas, replicas,
                EvenCounts({Collective::kAllReduce, builder_.SizeOf(replicas), 0},
                           static_cast<std::uint64_t>(shard)),
                plan_.gradient_type.value_or(unit.dense.front().type)};
  const int node =
      builder_.Call(std::move(call), {calls.empty() ? builder_.last_compute() : calls.front()});
  builder_.graph().nodes[node].is_gradient = true;
  calls.push_back(node);
  return calls;
}

void Gathered::AfterUnit(const UnitPass& pass) {
  computed_.push_back(builder_.last_compute());
  if (pass.work != StepWork::kBackward) return;
  reductions_.push_back(Reduce(*pass.units[pass.i]));
  unfinished_.insert(unfinished_.end(), reductions_.back().begin(), reductions_.back().end());
}

void Gathered::Finish() {
  for (const int call : unfinished_) builder_.Need(call);
  std::int64_t elements = 0;
  for (const LocalUnit& unit : units_) {
    elements +=
        Padded(unit.dense, dense_) / dense_.ranks + Padded(unit.experts, experts_) / experts_.ranks;
  }
  builder_.Compute(OptimizerNode(elements));
}

}  // namespace

std::unique_ptr<DataParallel> MakeGathered(StepBuilder& builder,
                                           const std::vector<LocalUnit>& units) {
  return std::make_unique<Gathered>(builder, units);
}

}  // namespace hockney
