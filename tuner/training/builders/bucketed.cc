#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tuner/training/builders/gradients.h"
#include "tuner/training/shard_padding.h"

namespace hockney {
namespace {

// Tensors that are reduced over the same ranks, in buckets that are launched strictly one after the
// other.
class BucketQueue {
 public:
  BucketQueue(StepBuilder& builder, int group, const char* what)
      : builder_(builder), group_(group), what_(what) {}

  void Append(const ModelParameter& parameter, int unit) {
    parameters_.push_back(parameter);
    unit_of_.push_back(unit);
  }
  void MakeAll();
  void StartPass() {
    done_.clear();
    calls_.clear();
  }
  // Launches buckets that have become full.
  void UnitDone(int unit);
  // The optimizer on what this rank updates, and what the others need of that.
  void Update();
  void GatherUpdated();

 private:
  bool is_sharded() const { return builder_.plan().sharding != Sharding::kDdp; }
  int ranks() const { return group_ < 0 ? 1 : builder_.SizeOf(group_); }
  PaddedBucket Padded(const GradientBucket& bucket) const;
  int Reduce(std::size_t number);

  StepBuilder& builder_;
  int group_;
  const char* what_;
  std::vector<ModelParameter> parameters_;
  std::vector<int> unit_of_;  // by parameter
  std::vector<GradientBucket> buckets_;
  std::set<int> done_;      // units whose gradients are there
  std::vector<int> calls_;  // of this pass, by bucket
  int updated_ = -1;
};

void BucketQueue::MakeAll() {
  if (parameters_.empty()) return;
  const StepPlan& plan = builder_.plan();
  for (ModelParameter& each : parameters_) each.type = plan.gradient_type.value_or(each.type);
  buckets_ = MakeBuckets(parameters_, plan.buckets);
}

PaddedBucket BucketQueue::Padded(const GradientBucket& bucket) const {
  return PadBuckets(std::span(&bucket, 1), ranks(), builder_.plan().shard_alignment).front();
}

int BucketQueue::Reduce(std::size_t number) {
  const GradientBucket& bucket = buckets_[number];
  const std::string name = fmt::format("{}bucket {}", what_, number);
  StepCall call{name, StepStream::kGradients, group_, {}, bucket.type};
  std::int64_t padding = 0;
  if (is_sharded()) {
    const PaddedBucket padded = Padded(bucket);
    call = ShardCall(name, StepStream::kGradients, Collective::kReduceScatter, {group_, ranks()},
                     {padded.padded_elements, bucket.type});
    padding = padded.padding_bytes;
  } else {
    call.counts = EvenCounts({Collective::kAllReduce, ranks(), 0},
                             static_cast<std::uint64_t>(bucket.elements));
  }
  const int node = builder_.Call(std::move(call));
  StepNode& added = builder_.graph().nodes[node];
  added.bucket = static_cast<int>(number);
  added.is_gradient = true;
  added.padding_bytes = padding;
  return node;
}

void BucketQueue::UnitDone(int unit) {
  done_.insert(unit);
  while (group_ >= 0 && calls_.size() < buckets_.size()) {
    const auto& parameters = buckets_[calls_.size()].parameters;
    const bool is_full =
        std::all_of(parameters.begin(), parameters.end(),
                    [this](std::int64_t each) { return done_.contains(unit_of_[each]); });
    if (!is_full) return;
    calls_.push_back(Reduce(calls_.size()));
  }
}

void BucketQueue::Update() {
  if (parameters_.empty()) return;
  for (const int call : calls_) builder_.Need(call);
  std::int64_t elements = ElementsOf(parameters_);
  if (is_sharded()) elements = (elements + ranks() - 1) / ranks();
  updated_ = builder_.Compute(OptimizerNode(elements));
}

void BucketQueue::GatherUpdated() {
  if (!is_sharded() || group_ < 0) return;
  const DataType type = builder_.plan().model.parameters.front().type;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    builder_.Call(ShardCall(fmt::format("{}parameters {}", what_, i), StepStream::kParameters,
                            Collective::kAllGather, {group_, ranks()},
                            {Padded(buckets_[i]).padded_elements, type}),
                  {updated_});
  }
}

// kDdp, kZero1 and kZero2.
class Bucketed : public DataParallel {
 public:
  Bucketed(StepBuilder& builder, const std::vector<LocalUnit>& units)
      : plan_(builder.plan()),
        dense_(builder, builder.Group(ParallelDimension::kDataContext), ""),
        experts_(builder, builder.Group(ParallelDimension::kExpertData), "expert ") {
    for (const LocalUnit& unit : units) {
      for (const ModelParameter& each : unit.dense) dense_.Append(each, unit.unit);
      for (const ModelParameter& each : unit.experts) experts_.Append(each, unit.unit);
    }
    dense_.MakeAll();
    experts_.MakeAll();
  }

  void BeforeUnit(const UnitPass& pass) override {
    if (pass.work != StepWork::kBackward || pass.i != 0 || !pass.is_first_chunk) return;
    dense_.StartPass();
    experts_.StartPass();
  }

  void AfterUnit(const UnitPass& pass) override {
    if (pass.work != StepWork::kBackward) return;
    const bool waits = plan_.no_sync && plan_.sharding != Sharding::kZero2;
    if (waits && !pass.is_last_micro_batch) return;
    dense_.UnitDone(pass.units[pass.i]->unit);
    experts_.UnitDone(pass.units[pass.i]->unit);
  }

  void Finish() override {
    dense_.Update();
    experts_.Update();
    dense_.GatherUpdated();
    experts_.GatherUpdated();
  }

 private:
  const StepPlan& plan_;
  BucketQueue dense_;
  BucketQueue experts_;
};

}  // namespace

std::unique_ptr<DataParallel> MakeBucketed(StepBuilder& builder,
                                           const std::vector<LocalUnit>& units) {
  return std::make_unique<Bucketed>(builder, units);
}

StepNode OptimizerNode(std::int64_t elements) {
  // Adam with float32 moments reads and writes the parameter and both moments, and reads the
  // gradient.
  constexpr double kBytes = 7 * 4;
  StepNode node;
  node.name = "optimizer";
  node.work = StepWork::kOptimizer;
  node.memory_bytes = kBytes * static_cast<double>(elements);
  return node;
}

std::int64_t ElementsOf(const std::vector<ModelParameter>& parameters) {
  std::int64_t elements = 0;
  for (const ModelParameter& each : parameters) elements += Elements(each);
  return elements;
}

StepCall ShardCall(const std::string& name, StepStream stream, Collective collective,
                   const ShardGroup& group, const ShardedVector& vector) {
  const Counts counts = EvenCounts({collective, group.ranks, 0},
                                   static_cast<std::uint64_t>(vector.elements / group.ranks));
  return {name, stream, group.group, counts, vector.type};
}

}  // namespace hockney
