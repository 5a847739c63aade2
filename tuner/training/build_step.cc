#include "tuner/training/build_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tuner/training/builders/blocks.h"
#include "tuner/training/builders/gradients.h"
#include "tuner/training/pipeline_walk.h"

namespace hockney {
namespace {

// Times in which the order of collectives is told.
PipelineWalk WalkOf(const StepPlan& plan) {
  const PipelineShape shape{
      .kind = plan.degrees.pp == 1 ? PipelineKind::kOneForwardOneBackward : plan.pipeline,
      .ranks = plan.degrees.pp,
      .micro_batches = plan.micro_batches,
      .chunks = plan.chunks};
  return WalkPipeline(SchedulePipeline(shape), {.forward = {1}, .backward = {2}});
}

class RankStep {
 public:
  RankStep(const StepPlan& plan, std::int64_t rank, const PipelineWalk& walk);
  StepGraph Build();

 private:
  std::int64_t stages() const { return plan_.degrees.pp * plan_.chunks; }
  std::int64_t StageOf(std::int64_t chunk) const {
    return builder_.place().pp + plan_.degrees.pp * chunk;
  }
  void AddOp(const TimedOp& timed);
  void AddUnits(const PipelineOp& op);
  std::vector<const LocalUnit*> UnitsOf(const PipelineOp& op) const;
  // The message between two stages of the whole model, of which one is this rank's; after the pass
  // of `from`.
  int AddMessage(const PipelineOp& op, std::int64_t from, std::int64_t to);

  const StepPlan& plan_;
  StepBuilder builder_;
  std::vector<LocalUnit> units_;  // chunk by chunk
  std::vector<std::size_t> chunk_begins_;
  std::map<std::tuple<Pass, std::int64_t, std::int64_t>, double>
      ends_;  // by pass, micro-batch and stage
  const PipelineWalk& walk_;
  std::unique_ptr<DataParallel> data_parallel_;
};

RankStep::RankStep(const StepPlan& plan, std::int64_t rank, const PipelineWalk& walk)
    : plan_(plan), builder_(plan, rank), walk_(walk) {
  for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    chunk_begins_.push_back(units_.size());
    for (LocalUnit& unit : UnitsOfStage(plan, StageOf(chunk), builder_.place().ep))
      units_.push_back(std::move(unit));
  }
  chunk_begins_.push_back(units_.size());
  for (std::size_t pp = 0; pp < walk.ranks.size(); ++pp) {
    for (const TimedOp& each : walk.ranks[pp]) {
      const std::int64_t stage = static_cast<std::int64_t>(pp) + plan.degrees.pp * each.op.chunk;
      ends_[{each.op.pass, each.op.micro_batch, stage}] = each.end;
    }
  }
  data_parallel_ = GathersParameters(plan.sharding) ? MakeGathered(builder_, units_)
                                                    : MakeBucketed(builder_, units_);
}

int RankStep::AddMessage(const PipelineOp& op, std::int64_t from, std::int64_t to) {
  const std::int64_t sender = from % plan_.degrees.pp;
  const std::int64_t receiver = to % plan_.degrees.pp;
  const int group = builder_.PipelineGroup(op.pass == Pass::kForward ? sender : receiver);
  const TransformerShape& shape = *plan_.model.transformer;
  const std::int64_t split = plan_.degrees.cp * (plan_.sequence_parallel ? plan_.degrees.tp : 1);
  const std::int64_t elements =
      plan_.micro_batch * plan_.model.tokens_per_sample / split * shape.hidden;
  Counts counts = EvenCounts({Collective::kBroadcast, 2, sender < receiver ? 0 : 1},
                             static_cast<std::uint64_t>(elements));
  const bool sends = StageOf(0) == sender;
  builder_.At(ends_.at({op.pass, op.micro_batch, from}));
  return builder_.Call(
      {fmt::format("{} {} of micro-batch {} {} stage {}", sends ? "send" : "receive",
                   op.pass == Pass::kForward ? "activations" : "gradients", op.micro_batch,
                   sends ? "to" : "from", sends ? to : from),
       StepStream::kPipeline, group, std::move(counts), plan_.model.parameters.front().type},
      {sends ? builder_.last_compute() : -1});
}

std::vector<const LocalUnit*> RankStep::UnitsOf(const PipelineOp& op) const {
  std::vector<const LocalUnit*> units;
  for (std::size_t i = chunk_begins_[op.chunk]; i < chunk_begins_[op.chunk + 1]; ++i)
    units.push_back(&units_[i]);
  if (op.pass == Pass::kBackward) std::reverse(units.begin(), units.end());
  return units;
}

void RankStep::AddUnits(const PipelineOp& op) {
  const std::vector<const LocalUnit*> units = UnitsOf(op);
  const bool is_forward = op.pass == Pass::kForward;
  UnitPass pass{.work = is_forward ? StepWork::kForward : StepWork::kBackward,
                .units = units,
                .is_first_chunk = op.chunk == (is_forward ? 0 : plan_.chunks - 1),
                .is_last_micro_batch = op.micro_batch + 1 == plan_.micro_batches};
  for (; pass.i < units.size(); ++pass.i) {
    data_parallel_->BeforeUnit(pass);
    is_forward ? AddForward(builder_, *units[pass.i], op.micro_batch)
               : AddBackward(builder_, *units[pass.i], op.micro_batch);
    data_parallel_->AfterUnit(pass);
  }
}

void RankStep::AddOp(const TimedOp& timed) {
  const PipelineOp& op = timed.op;
  builder_.Between(timed.start, timed.end);
  const std::int64_t stage = StageOf(op.chunk);
  const std::int64_t step = op.pass == Pass::kForward ? 1 : -1;
  const auto exists = [this](std::int64_t each) { return each >= 0 && each < stages(); };
  if (exists(stage - step)) builder_.Need(AddMessage(op, stage - step, stage));
  AddUnits(op);
  if (exists(stage + step)) AddMessage(op, stage, stage + step);
}

StepGraph RankStep::Build() {
  for (const TimedOp& timed : walk_.ranks[builder_.place().pp]) AddOp(timed);
  builder_.Between(walk_.total, walk_.total + 1);
  data_parallel_->Finish();
  return builder_.Finish();
}

void RequirePlan(const StepPlan& plan) {
  if (const std::string why = WhyNotPlanned(plan); !why.empty()) throw std::invalid_argument(why);
}

}  // namespace

StepGraph BuildStep(const StepPlan& plan, std::int64_t rank) {
  RequirePlan(plan);
  return RankStep(plan, rank, WalkOf(plan)).Build();
}

std::vector<StepGraph> BuildSteps(const StepPlan& plan) {
  RequirePlan(plan);
  const PipelineWalk walk = WalkOf(plan);
  std::vector<StepGraph> graphs;
  const std::int64_t ranks = RanksOfWorld(plan.degrees);
  graphs.reserve(ranks);
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    graphs.push_back(RankStep(plan, rank, walk).Build());
  return graphs;
}

std::vector<std::int64_t> KindsOfRanks(const StepPlan& plan) {
  RequirePlan(plan);
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> kinds;
  for (std::int64_t rank = 0; rank < RanksOfWorld(plan.degrees); ++rank) {
    const LayoutPlace place = PlaceOf(plan.degrees, rank);
    kinds.try_emplace({place.pp, plan.expert_skew > 0 ? place.ep : 0}, rank);
  }
  std::vector<std::int64_t> ranks;
  ranks.reserve(kinds.size());
  for (const auto& [kind, rank] : kinds) ranks.push_back(rank);
  return ranks;
}

}  // namespace hockney
