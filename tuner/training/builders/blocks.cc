#include "tuner/training/builders/blocks.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

namespace hockney {
namespace {

Counts CountsOf(Collective collective, int ranks, std::int64_t count) {
  return EvenCounts({collective, ranks, 0}, static_cast<std::uint64_t>(count));
}

// A pass of one unit.
class BlockPass {
 public:
  BlockPass(StepBuilder& builder, const LocalUnit& unit, StepWork work, std::int64_t micro_batch);
  int Add();

 private:
  bool is_forward() const { return work_ == StepWork::kForward; }
  void Attention();
  void Rest();
  void Part(const char* what, double share, double busy = 1);
  void Ring(double share);
  void EnterTensor(const char* what);
  void LeaveTensor(const char* what);
  void Exchange(const char* what);
  void CallAndNeed(const char* what, int group, Counts counts);
  double BusyWithExperts() const;
  std::string NameOf(const char* what) const;

  StepBuilder& builder_;
  const LocalUnit& unit_;
  StepWork work_;
  std::int64_t micro_batch_;
  const StepPlan& plan_;
  int tensor_;
  int context_;
  int expert_;
  DataType type_;
  std::int64_t tokens_;  // of this rank in a micro-batch
};

BlockPass::BlockPass(StepBuilder& builder, const LocalUnit& unit, StepWork work,
                     std::int64_t micro_batch)
    : builder_(builder),
      unit_(unit),
      work_(work),
      micro_batch_(micro_batch),
      plan_(builder.plan()),
      tensor_(builder.Group(ParallelDimension::kTensor)),
      context_(builder.Group(ParallelDimension::kContext)),
      expert_(unit.experts.empty() ? -1 : builder.Group(ParallelDimension::kExpert)),
      type_(plan_.model.parameters.front().type),
      tokens_(plan_.micro_batch * plan_.model.tokens_per_sample / plan_.degrees.cp) {}

std::string BlockPass::NameOf(const char* what) const {
  std::string name = fmt::format("{} {}", Name(work_), plan_.model.units[unit_.unit].name);
  if (*what != '\0') name += fmt::format(" {}", what);
  if (plan_.micro_batches > 1) name += fmt::format(", micro-batch {}", micro_batch_);
  return name;
}

void BlockPass::Part(const char* what, double share, double busy) {
  StepNode node;
  node.name = NameOf(what);
  node.work = work_;
  node.unit = unit_.unit;
  node.share = share * busy / static_cast<double>(plan_.degrees.tp * plan_.degrees.cp);
  const double passes = is_forward() ? 1 : 2;
  node.flops = node.share * passes * plan_.model.units[unit_.unit].forward_flops *
               static_cast<double>(plan_.micro_batch);
  builder_.Compute(std::move(node));
}

void BlockPass::CallAndNeed(const char* what, int group, Counts counts) {
  builder_.Need(builder_.Call({NameOf(what), StepStream::kLayer, group, std::move(counts), type_}));
}

// With sequence parallelism the tokens of a layer's input are shared out between the products.
void BlockPass::EnterTensor(const char* what) {
  if (tensor_ < 0 || !plan_.sequence_parallel) return;
  const int ranks = builder_.SizeOf(tensor_);
  const std::int64_t elements = tokens_ * plan_.model.transformer->hidden;
  CallAndNeed(what, tensor_, CountsOf(Collective::kAllGather, ranks, elements / ranks));
}

void BlockPass::LeaveTensor(const char* what) {
  if (tensor_ < 0) return;
  const int ranks = builder_.SizeOf(tensor_);
  const std::int64_t elements = tokens_ * plan_.model.transformer->hidden;
  CallAndNeed(what, tensor_,
              plan_.sequence_parallel
                  ? CountsOf(Collective::kReduceScatter, ranks, elements / ranks)
                  : CountsOf(Collective::kAllReduce, ranks, elements));
}

// Every rank's keys and values visit all ranks; the backward pass takes their gradients along. A
// visit is under way while attention to what came before is computed. Tokens lie in balanced
// chunks, so every visit is the same work on every rank (PairsOfRingSteps).
void BlockPass::Ring(double share) {
  const int ranks = builder_.SizeOf(context_);
  const TransformerShape& shape = *plan_.model.transformer;
  const std::int64_t visitors = is_forward() ? 2 : 4;
  const std::int64_t elements =
      visitors * tokens_ * shape.key_value_heads * shape.head_size / plan_.degrees.tp;
  int arrived = builder_.last_compute();
  for (int step = 0; step < ranks; ++step) {
    if (step + 1 < ranks) {
      const int before = step == 0 ? builder_.last_compute() : arrived;
      const int shift = builder_.Call({NameOf("keys and values"), StepStream::kLayer, context_,
                                       CountsOf(Collective::kSendRecv, ranks, elements), type_},
                                      {before});
      Part("attention", share / ranks);
      builder_.Need(shift);
      arrived = shift;
    } else {
      Part("attention", share / ranks);
    }
  }
}

void BlockPass::Attention() {
  const double share = AttentionShare(plan_.model.units[unit_.unit]);
  EnterTensor("attention input");
  if (context_ >= 0) {
    Ring(share);
  } else {
    Part("attention", share);
  }
  LeaveTensor("attention output");
}

// How much busier than the mean this rank's experts are.
double BlockPass::BusyWithExperts() const {
  const auto others = static_cast<double>(plan_.degrees.ep - 1);
  if (expert_ < 0 || others == 0) return 1;
  return builder_.place().ep == 0 ? 1 + plan_.expert_skew : 1 - plan_.expert_skew / others;
}

// Tokens to the experts' ranks, `what` "dispatch", or back.
void BlockPass::Exchange(const char* what) {
  const auto ranks = static_cast<std::uint64_t>(builder_.SizeOf(expert_));
  const TransformerShape& shape = *plan_.model.transformer;
  const std::int64_t split = plan_.sequence_parallel ? plan_.degrees.tp : 1;
  const auto mean =
      static_cast<std::uint64_t>(tokens_ / split * shape.experts_per_token * shape.hidden) / ranks;
  if (plan_.expert_skew == 0) {
    CallAndNeed(
        what, expert_,
        CountsOf(Collective::kAllToAll, static_cast<int>(ranks), static_cast<std::int64_t>(mean)));
    return;
  }
  const auto busy = static_cast<std::uint64_t>(static_cast<double>(mean) * (1 + plan_.expert_skew));
  const std::uint64_t others = (mean * ranks - busy) / (ranks - 1);
  const bool is_dispatch = std::string_view(what) == "dispatch";
  Counts counts{Collective::kAllToAllV, static_cast<int>(ranks), 0, {}};
  for (std::uint64_t from = 0; from < ranks; ++from) {
    for (std::uint64_t to = 0; to < ranks; ++to) {
      counts.counts.push_back((is_dispatch ? to : from) == 0 ? busy : others);
    }
  }
  CallAndNeed(what, expert_, std::move(counts));
}

void BlockPass::Rest() {
  const double share = 1 - AttentionShare(plan_.model.units[unit_.unit]);
  EnterTensor("mlp input");
  // In the backward pass, too, what belongs to tokens goes to the experts first.
  if (expert_ >= 0) Exchange("dispatch");
  Part("mlp", share, BusyWithExperts());
  if (expert_ >= 0) Exchange("combine");
  LeaveTensor("mlp output");
}

int BlockPass::Add() {
  const bool is_block = plan_.model.units[unit_.unit].is_block;
  if (!is_block || (tensor_ < 0 && context_ < 0 && expert_ < 0)) {
    Part("", 1);
  } else if (is_forward()) {
    Attention();
    Rest();
  } else {
    Rest();
    Attention();
  }
  return builder_.last_compute();
}

}  // namespace

int AddForward(StepBuilder& builder, const LocalUnit& unit, std::int64_t micro_batch) {
  return BlockPass(builder, unit, StepWork::kForward, micro_batch).Add();
}

int AddBackward(StepBuilder& builder, const LocalUnit& unit, std::int64_t micro_batch) {
  return BlockPass(builder, unit, StepWork::kBackward, micro_batch).Add();
}

}  // namespace hockney
