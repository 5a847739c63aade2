#include "tuner/training/step_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"
#include "topology/check.h"
#include "tuner/training/build_step.h"
#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

StepRow Row() {
  return {.model = "gpt2", .scale = "layers=2,hidden=128,vocab=256", .ranks = 2, .micro_batch = 3};
}

double SecondsOf(const StepGraph& graph, StepWork work) {
  double seconds = 0;
  for (const StepNode& node : graph.nodes) {
    if (node.kind == StepKind::kCompute && node.work == work) seconds += node.seconds;
  }
  return seconds;
}

TEST(StepTimesTest, FlopsOverThePeaksShare) {
  StepRow row = Row();
  row.device = "h100";
  row.efficiency = 0.5;
  const StepPlan plan = PlanOfRow(row);
  const StepGraph graph = GraphsOfRow(row, plan)[0];
  double forward = 0;
  for (const ModelUnit& unit : plan.model.units) forward += 3 * unit.forward_flops;
  EXPECT_NEAR(SecondsOf(graph, StepWork::kForward), forward / (0.5 * 494.7e12),
              1e-12);  // float32 as TF32
  EXPECT_NEAR(SecondsOf(graph, StepWork::kBackward), 2 * forward / (0.5 * 494.7e12), 1e-12);
  EXPECT_NEAR(SecondsOf(graph, StepWork::kOptimizer),
              28.0 * static_cast<double>(TotalElements(plan.model)) / 3.35e12, 1e-12);
  row.dtype = DataType::kBfloat16;
  EXPECT_NEAR(SecondsOf(GraphsOfRow(row, PlanOfRow(row))[0], StepWork::kForward),
              forward / (0.5 * 989.4e12), 1e-12);
}

TEST(StepTimesTest, MeasuredLayersComeFirst) {
  const ScratchFolder folder;
  StepRow row = Row();
  row.layer_times =
      folder.Write("l.csv", "unit,forward_ms,backward_ms\nembedding,1,2\nblock,10,20\nhead,3,4");
  const StepGraph graph = GraphsOfRow(row, PlanOfRow(row))[0];
  EXPECT_NEAR(SecondsOf(graph, StepWork::kForward), 3 * 24e-3, 1e-12);
  EXPECT_NEAR(SecondsOf(graph, StepWork::kBackward), 3 * 46e-3, 1e-12);
}

std::string Refusal(const std::string& text) {
  const ScratchFolder folder;
  StepRow row = Row();
  row.layer_times = folder.Write("l.csv", text);
  try {
    GraphsOfRow(row, PlanOfRow(row));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(StepTimesTest, BadTimesAndDevicesAreRefusedWithWhatWouldDo) {
  EXPECT_THAT(Refusal("unit,forward_ms\nblock,1\n"),
              HasSubstr("expected a column named backward_ms"));
  EXPECT_THAT(Refusal("unit,forward_ms,backward_ms\nblock,x,1\n"),
              HasSubstr("l.csv:2:7: forward_ms: \"x\""));
  EXPECT_THAT(Refusal("unit,forward_ms,backward_ms\nblock,-1,1\n"),
              HasSubstr("expected times of 0 ms or more"));
  EXPECT_THAT(Refusal("unit,forward_ms,backward_ms\nbloc,1,1\n"),
              HasSubstr("expected block or a unit of gpt2"));
  EXPECT_THAT(Refusal("unit,forward_ms,backward_ms\n"), HasSubstr("no times"));
  EXPECT_THAT(Refusal("unit,forward_ms,backward_ms\nblock,1,1\n"), HasSubstr("no time of unit"));
  StepRow row = Row();
  row.device = "H900";
  EXPECT_THROW(CostOfRow(row, PlanOfRow(row).model), std::invalid_argument);
  row.device = "H100";
  for (const double efficiency : {0.0, -1.0, 1.5}) {
    row.efficiency = efficiency;
    EXPECT_THROW(CostOfRow(row, PlanOfRow(row).model), std::invalid_argument) << efficiency;
  }
}

TEST(StepRatesTest, TokensAndModelFlopsUtilization) {
  StepRow row = Row();
  row.device = "H100";
  row.step_ms_median = 10;
  row.micro_batches = 2;
  const StepPlan plan = PlanOfRow(row);
  RateStep(plan, row);
  const double tokens = 2.0 * 2 * 3 * static_cast<double>(plan.model.tokens_per_sample);
  EXPECT_NEAR(*row.tokens_per_s, tokens / 0.01, 1e-6);
  EXPECT_NEAR(*row.mfu, FlopsOfStep(plan) / 0.01 / (2 * 494.7e12), 1e-12);
}

}  // namespace
}  // namespace hockney
