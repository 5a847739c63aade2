#include "tuner/training/build_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tuner/training/read_model_description.h"
#include "tuner/training/simulate_step.h"

namespace hockney {
namespace {

// Every collective takes as long as it has bytes.
class ByteClock : public CollectiveClock {
 public:
  double Seconds(const StepNode& node, const StepGroup&, double) override {
    return static_cast<double>(SizeBytes(node)) * 1e-9;
  }
};

StepPlan PlanOf(const std::string& model, const std::string& scale, const std::string& parallel,
                std::int64_t ranks) {
  StepPlan plan;
  plan.model = ReadModelDescription(model, {.scale = scale});
  plan.degrees = ParseDegrees(parallel, ranks);
  return plan;
}

StepPlan SmallLlama(const std::string& parallel, std::int64_t ranks) {
  return PlanOf("llama3-8b", "layers=8,hidden=256,vocab=1024", parallel, ranks);
}

StepPlan SmallMixtral(const std::string& parallel, std::int64_t ranks) {
  return PlanOf("mixtral-8x7b", "layers=4,hidden=256,vocab=1024", parallel, ranks);
}

// Builds, matches and simulates: with one thread and with streams nobody waits forever.
std::vector<StepGraph> RequireSound(const StepPlan& plan) {
  std::vector<StepGraph> graphs = BuildSteps(plan);
  EXPECT_EQ(WhyNotMatched(graphs), "");
  ByteClock clock;
  EXPECT_GT(SimulateStep(graphs, clock, {.one_thread = true}).seconds, 0);
  EXPECT_GT(SimulateStep(graphs, clock, {.one_thread = false}).seconds, 0);
  return graphs;
}

// Bytes of collectives of one kind on one rank.
std::int64_t BytesOf(const StepGraph& graph, StepStream stream, Collective collective) {
  std::int64_t bytes = 0;
  for (const StepNode& node : graph.nodes) {
    if (node.kind == StepKind::kCollective && node.stream == stream &&
        node.counts.collective == collective) {
      bytes += SizeBytes(node);
    }
  }
  return bytes;
}

std::int64_t CallsOf(const StepGraph& graph, StepStream stream) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [stream](const StepNode& node) {
    return node.kind == StepKind::kCollective && node.stream == stream;
  });
}

double FlopsOf(const std::vector<StepGraph>& graphs) {
  double flops = 0;
  for (const StepGraph& graph : graphs) {
    for (const StepNode& node : graph.nodes) flops += node.flops;
  }
  return flops;
}

double ModelFlops(const StepPlan& plan) {
  double flops = 0;
  for (const ModelUnit& unit : plan.model.units) flops += 3 * unit.forward_flops;
  return flops * static_cast<double>(plan.micro_batches * plan.micro_batch * plan.degrees.dp);
}

TEST(BuildStepTest, DdpReducesResnetInTheBucketsOfThePublicCase) {
  StepPlan plan = PlanOf("resnet-18", "", "", 4);
  plan.buckets.cap_bytes = std::int64_t{25} << 20;
  plan.buckets.older_first_cap = true;
  const auto graphs = RequireSound(plan);
  std::vector<std::int64_t> bytes;
  for (const StepNode& node : graphs[0].nodes) {
    if (node.is_gradient) bytes.push_back(SizeBytes(node));
  }
  EXPECT_THAT(bytes, testing::ElementsAre(2052000, 28852224, 15853824));
}

TEST(BuildStepTest, ReductionsWaitForTheLastGradientOfTheirBucketOnly) {
  const auto graphs = RequireSound(PlanOf("gpt2", "layers=6,hidden=256", "", 2));
  const StepGraph& graph = graphs[0];
  int earlier = 0;
  for (const StepNode& node : graph.nodes) {
    if (!node.is_gradient) continue;
    ASSERT_EQ(node.after.size(), 1U);
    EXPECT_EQ(graph.nodes[node.after[0]].work, StepWork::kBackward);
    if (graph.nodes[node.after[0]].unit > 0) ++earlier;
  }
  EXPECT_GT(earlier, 0);  // some leave before the embedding's gradient is there
}

TEST(BuildStepTest, NoSyncReducesOnceAMicroBatchElseEveryTime) {
  StepPlan plan = PlanOf("gpt2", "layers=2,hidden=256", "", 2);
  plan.micro_batches = 3;
  const std::int64_t once = CallsOf(RequireSound(plan)[0], StepStream::kGradients);
  plan.no_sync = false;
  EXPECT_EQ(CallsOf(RequireSound(plan)[0], StepStream::kGradients), 3 * once);
}

// ZeRO, Rajbhandari et al. 2020, section 7: stages 1 and 2 send as much as all-reduces, stage 3
// half as much again.
TEST(BuildStepTest, ZeroMovesWhatItsPaperSays) {
  StepPlan plan = SmallLlama("", 4);
  const std::int64_t all = TotalBytes(plan.model);
  plan.sharding = Sharding::kDdp;
  EXPECT_EQ(BytesOf(RequireSound(plan)[0], StepStream::kGradients, Collective::kAllReduce), all);
  for (const Sharding sharding : {Sharding::kZero1, Sharding::kZero2, Sharding::kZero3}) {
    plan.sharding = sharding;
    const StepGraph graph = RequireSound(plan)[0];
    const std::int64_t gathers = sharding == Sharding::kZero3 ? 2 : 1;
    EXPECT_EQ(BytesOf(graph, StepStream::kGradients, Collective::kReduceScatter), all)
        << Name(sharding);
    EXPECT_EQ(BytesOf(graph, StepStream::kParameters, Collective::kAllGather), gathers * all)
        << Name(sharding);
  }
}

TEST(BuildStepTest, HybridShardsReduceOverGroupsThenBetweenThem) {
  StepPlan plan = SmallLlama("", 8);
  plan.sharding = Sharding::kHybrid;
  plan.shard_ranks = 4;
  const StepGraph graph = RequireSound(plan)[5];
  EXPECT_EQ(BytesOf(graph, StepStream::kReplicas, Collective::kAllReduce),
            TotalBytes(plan.model) / 4);
  for (const StepNode& node : graph.nodes) {
    if (node.stream == StepStream::kReplicas) {
      EXPECT_THAT(graph.groups[node.group].members, testing::ElementsAre(1, 5));
    }
    if (node.stream == StepStream::kParameters) {
      EXPECT_THAT(graph.groups[node.group].members, testing::ElementsAre(4, 5, 6, 7));
    }
  }
}

// Places of gathers in the order of the graph, and of the computing nodes that they wait for.
TEST(BuildStepTest, PrefetchSaysHowManyUnitsAreGatheredAhead) {
  for (int prefetch = 0; prefetch <= 2; ++prefetch) {
    StepPlan plan = SmallLlama("", 2);
    plan.sharding = Sharding::kZero3;
    plan.prefetch = prefetch;
    const StepGraph graph = RequireSound(plan)[0];
    std::map<int, int> computed;  // forward: unit of node
    int unit = 0;
    for (const StepNode& node : graph.nodes) {
      if (node.kind == StepKind::kCompute && node.work == StepWork::kForward) {
        computed[static_cast<int>(&node - graph.nodes.data())] = node.unit;
      }
      if (node.stream != StepStream::kParameters ||
          unit >= static_cast<int>(plan.model.units.size()))
        continue;
      const int freed = unit - 1 - prefetch;
      if (freed < 0) {
        EXPECT_THAT(node.after, testing::IsEmpty()) << unit;
      } else {
        ASSERT_EQ(node.after.size(), 1U);
        EXPECT_EQ(computed.at(node.after[0]), freed) << unit;
      }
      ++unit;
    }
  }
}

// Megatron-LM, Shoeybi et al. 2019, section 3: two all-reduces of an activation in each pass of a
// layer.
TEST(BuildStepTest, TensorParallelLayersReduceTwiceAPass) {
  StepPlan plan = SmallLlama("tp=2", 4);
  plan.micro_batches = 2;
  const std::int64_t activation = plan.model.tokens_per_sample * 256 * 4;
  const auto graphs = RequireSound(plan);
  EXPECT_EQ(BytesOf(graphs[1], StepStream::kLayer, Collective::kAllReduce), 8 * 4 * 2 * activation);
  EXPECT_NEAR(FlopsOf(graphs) / ModelFlops(plan), 1, 1e-9);
  plan.sequence_parallel = true;
  const StepGraph split = RequireSound(plan)[1];
  EXPECT_EQ(BytesOf(split, StepStream::kLayer, Collective::kReduceScatter), 8 * 4 * 2 * activation);
  EXPECT_EQ(BytesOf(split, StepStream::kLayer, Collective::kAllGather), 8 * 4 * 2 * activation);
}

TEST(BuildStepTest, ContextParallelRanksSendKeysAndValuesRound) {
  const StepPlan plan = SmallLlama("cp=4", 4);
  const StepGraph graph = RequireSound(plan)[2];
  const TransformerShape& shape = *plan.model.transformer;
  const std::int64_t tensor =
      plan.model.tokens_per_sample / 4 * shape.key_value_heads * shape.head_size * 4;
  EXPECT_EQ(BytesOf(graph, StepStream::kLayer, Collective::kSendRecv), 8 * 3 * (2 + 4) * tensor);
}

TEST(BuildStepTest, TokensGoToTheirExpertsAndBack) {
  StepPlan plan = SmallMixtral("ep=4", 4);
  const StepGraph graph = RequireSound(plan)[0];
  const std::int64_t tokens =
      plan.model.tokens_per_sample * plan.model.transformer->experts_per_token * 256 * 4;
  EXPECT_EQ(BytesOf(graph, StepStream::kLayer, Collective::kAllToAll), 4 * 4 * tokens);
  // Each rank reduces its own experts with nobody and the rest with all.
  std::int64_t experts = 0;
  for (const ModelParameter& each : plan.model.parameters) {
    if (each.split == ParameterSplit::kExpert) experts += Bytes(each);
  }
  EXPECT_EQ(BytesOf(graph, StepStream::kGradients, Collective::kAllReduce),
            TotalBytes(plan.model) - experts);
  plan.degrees = ParseDegrees("ep=2", 4);
  EXPECT_EQ(BytesOf(RequireSound(plan)[0], StepStream::kGradients, Collective::kAllReduce),
            TotalBytes(plan.model) - experts / 2);
}

TEST(BuildStepTest, SkewMakesTheFirstExpertsBusierAndTheirRankReceiveMore) {
  StepPlan plan = SmallMixtral("ep=4", 4);
  plan.expert_skew = 1.5;
  const auto graphs = RequireSound(plan);
  EXPECT_NEAR(FlopsOf(graphs) / ModelFlops(plan), 1, 1e-6);
  EXPECT_GT(FlopsOf({graphs[0]}), 1.2 * FlopsOf({graphs[1]}));
  EXPECT_EQ(KindsOfRanks(plan).size(), 4U);
  plan.expert_skew = 3.5;
  EXPECT_THAT(WhyNotPlanned(plan), testing::HasSubstr("expected 0 to 3"));
}

TEST(BuildStepTest, EveryPipelineSendsEveryActivationOnceAndItsGradientBack) {
  for (const PipelineKind kind :
       {PipelineKind::kGPipe, PipelineKind::kOneForwardOneBackward, PipelineKind::kInterleaved}) {
    for (const std::int64_t stages : {2, 4}) {
      StepPlan plan = SmallLlama("pp=" + std::to_string(stages), 2 * stages);
      plan.pipeline = kind;
      plan.chunks = kind == PipelineKind::kInterleaved ? 2 : 1;
      plan.micro_batches = 2 * stages;
      const auto graphs = RequireSound(plan);
      const std::int64_t borders = stages * plan.chunks - 1;
      std::int64_t ends = 0;  // of messages
      for (const StepGraph& graph : graphs) ends += CallsOf(graph, StepStream::kPipeline);
      EXPECT_EQ(ends, 2 * 2 * 2 * borders * plan.micro_batches) << Name(kind) << stages;
      EXPECT_NEAR(FlopsOf(graphs) / ModelFlops(plan), 1, 1e-9);
    }
  }
}

TEST(BuildStepTest, ProductsOfDimensionsFitTogether) {
  for (const char* parallel : {"tp=2,pp=2", "tp=2,cp=2", "cp=2,pp=2", "tp=2,cp=2,pp=2"}) {
    for (const Sharding sharding : {Sharding::kDdp, Sharding::kZero1, Sharding::kZero3}) {
      StepPlan plan = SmallLlama(parallel, 8);
      plan.sharding = sharding;
      plan.micro_batches = 4;
      RequireSound(plan);
    }
  }
  StepPlan experts = SmallMixtral("tp=2,ep=2,pp=2", 8);
  experts.micro_batches = 2;
  RequireSound(experts);
}

TEST(BuildStepTest, RanksOfOneKindStandForAll) {
  StepPlan plan = SmallLlama("tp=2,pp=2", 8);
  plan.micro_batches = 4;
  std::vector<StepGraph> all = BuildSteps(plan);
  std::vector<StepGraph> few;
  for (const std::int64_t rank : KindsOfRanks(plan)) few.push_back(all[rank]);
  EXPECT_EQ(few.size(), 2U);
  for (auto* graphs : {&all, &few}) {
    for (StepGraph& graph : *graphs) {
      for (StepNode& node : graph.nodes) node.seconds = node.flops * 1e-12;
    }
  }
  ByteClock clock;
  EXPECT_DOUBLE_EQ(SimulateStep(few, clock).seconds, SimulateStep(all, clock).seconds);
}

TEST(BuildStepTest, WhatDoesNotDivideIsSaid) {
  StepPlan plan = PlanOf("resnet-18", "", "tp=2", 2);
  EXPECT_THAT(WhyNotPlanned(plan), testing::HasSubstr("no transformer"));
  EXPECT_THROW(BuildStep(plan, 0), std::invalid_argument);
  plan = SmallLlama("", 4);
  plan.sharding = Sharding::kHybrid;
  plan.shard_ranks = 3;
  EXPECT_THAT(WhyNotPlanned(plan), testing::HasSubstr("--shard-ranks: 3"));
  plan = SmallLlama("ep=2", 4);
  EXPECT_THAT(WhyNotPlanned(plan), testing::HasSubstr("no experts"));
}

}  // namespace
}  // namespace hockney
