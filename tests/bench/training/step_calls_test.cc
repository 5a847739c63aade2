#include "bench/training/step_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "topology/session.h"
#include "tuner/training/build_step.h"
#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

// Runs `body` with the calls of every rank of the row's step, as threads of one host.
template <class Body>
void WithCalls(const StepRow& row, const Body& body) {
  const StepPlan plan = PlanOfRow(row);
  RunThreadRanks(static_cast<int>(row.ranks), 30, [&](Session& session) {
    Session local = session.SplitSharedMemory();
    HostGroundOptions options{.executor = {.oversubscribed = true}};
    options.domain.lanes = 1;
    const HostGround ground = MakeHostGround(session, local, options);
    const StepGraph graph = BuildStep(plan, session.rank());
    StepCalls calls(session, ground, nullptr, graph, {.executor = {.oversubscribed = true}});
    body(session, graph, calls);
    session.Barrier();
  });
}

void RunAll(const StepGraph& graph, StepCalls& calls) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (calls.At(i) != nullptr) calls.At(i)->Run();
  }
}

StepRow Row(std::string sharding, std::string parallel = "") {
  const std::int64_t shard_ranks = sharding == "hybrid" ? 2 : 0;
  return {.model = "gpt2",
          .scale = "layers=4,hidden=128,vocab=256",
          .tokens_per_sample = 16,
          .ranks = 4,
          .parallel = std::move(parallel),
          .sharding = std::move(sharding),
          .shard_ranks = shard_ranks,
          .micro_batches = 2};
}

TEST(StepCallsTest, GradientsOfEveryStrategyAreTheMeanOfAllRanks) {
  for (const StepRow& row : {Row("ddp"), Row("zero1"), Row("zero2"), Row("zero3"), Row("hybrid"),
                             Row("ddp", "tp=2"), Row("zero1", "pp=2"), Row("zero3", "tp=2")}) {
    WithCalls(row, [&](Session& session, const StepGraph& graph, StepCalls& calls) {
      calls.FillGradients(7);
      session.Barrier();
      RunAll(graph, calls);
      const CheckResult found = calls.CheckGradients(7);
      EXPECT_EQ(found.errors, 0U) << row.sharding << " " << row.parallel << ": " << found.reason;
      // Against other inputs the same outputs are wrong.
      EXPECT_GT(calls.CheckGradients(8).errors, 0U);
    });
  }
}

// Public case B22: sums of half-precision gradients overflow before they are divided.
TEST(StepCallsTest, HalfPrecisionMeansOfLargeGradientsDoNotOverflow) {
  static constexpr std::uint16_t kThirtyThousand = 0x7753;
  StepRow row = Row("ddp");
  row.gradient_dtype = DataType::kFloat16;
  WithCalls(row, [&](Session& session, const StepGraph& graph, StepCalls& calls) {
    const auto each = [&](const auto& visit) {
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        if (!graph.nodes[i].is_gradient) continue;
        EXPECT_EQ(graph.nodes[i].type, DataType::kFloat16);
        const Call& call = calls.CallAt(i);
        visit(reinterpret_cast<std::uint16_t*>(call.input),
              reinterpret_cast<std::uint16_t*>(call.output), call.counts.counts[0]);
      }
    };
    each([](std::uint16_t* in, std::uint16_t*, std::uint64_t n) {
      std::fill_n(in, n, kThirtyThousand);
    });
    session.Barrier();
    RunAll(graph, calls);
    each([](const std::uint16_t*, const std::uint16_t* out, std::uint64_t n) {
      EXPECT_EQ(std::count(out, out + n, kThirtyThousand), static_cast<std::ptrdiff_t>(n));
    });
  });
}

TEST(StepCallsTest, OnlyPipelinesHaveSignals) {
  WithCalls(Row("ddp", "pp=2"), [](Session& session, const StepGraph& graph, StepCalls& calls) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const StepNode& node = graph.nodes[i];
      EXPECT_EQ(calls.At(i) != nullptr, node.kind == StepKind::kCollective);
      EXPECT_EQ(calls.SignalAt(i) != nullptr, node.stream == StepStream::kPipeline) << node.name;
    }
    session.Barrier();
  });
}

}  // namespace
}  // namespace hockney
