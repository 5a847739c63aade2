#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tuner/training/pipeline_schedule.h"
#include "tuner/training/pipeline_walk.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum PipelineKind;

PipelineWalk WalkOf(PipelineKind kind, std::int64_t ranks, std::int64_t micro_batches,
                    std::int64_t chunks = 1) {
  return WalkPipeline(SchedulePipeline({kind, ranks, micro_batches, chunks}));
}

std::string WhyRefused(const PipelineSchedule& schedule, const PipelineTimes& times = {}) {
  try {
    WalkPipeline(schedule, times);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

// The golden rows of the source chapters, by their ids.
TEST(PipelineGoldenTest, TablesAreThoseOfTheChapter) {
  const PipelineWalk walk = WalkOf(kOneForwardOneBackward, 2, 3);
  EXPECT_EQ(walk.total, 8);  // S001-053
  EXPECT_THAT(
      SlotTable(walk),  // S001-056 ... 063
      ElementsAre("F(A) | idle | A", "F(B) | F(A) | A,B", "idle | B(A) | A,B", "B(A) | F(B) | B",
                  "F(C) | B(B) | B,C", "B(B) | F(C) | C", "idle | B(C) | C", "B(C) | idle | none"));
  const auto& stage_0 = walk.ranks[0];
  const auto frees_a = std::find_if(stage_0.begin(), stage_0.end(), [](const TimedOp& timed) {
    return timed.op == PipelineOp{Pass::kBackward, 0, 0};
  });
  EXPECT_EQ(frees_a->end, 4);              // S001-068
  EXPECT_EQ(walk.peak_activations[0], 2);  // S001-055
  const PipelineWalk forward = WalkOf(kForwardOnly, 2, 3);
  EXPECT_EQ(forward.total, 4);  // S001-052
  EXPECT_THAT(SlotTable(forward),
              ElementsAre("A | idle", "B | A", "C | B", "idle | C"));  // 064-067
  EXPECT_EQ(WalkOf(kGPipe, 2, 3).peak_activations[0], 3);              // S001-054
}

TEST(PipelineGoldenTest, BubblesAreThoseOfTheChapters) {
  EXPECT_EQ(WalkOf(kForwardOnly, 4, 4).total, 7);  // S002-045
  const PipelineWalk short_walk = WalkOf(kOneForwardOneBackward, 4, 4);
  EXPECT_NEAR(100 * BubbleOfWall(short_walk), 43, 0.005 * 43);  // S002-046
  EXPECT_NEAR(100 * BubbleOfIdeal(short_walk), 75, 75e-9);      // S002-048
  const PipelineWalk long_walk = WalkOf(kOneForwardOneBackward, 4, 32);
  EXPECT_NEAR(100 * BubbleOfWall(long_walk), 8.6, 0.005 * 8.6);                         // S002-047
  EXPECT_NEAR(100 * BubbleOfIdeal(long_walk), 9.375, 9.375e-9);                         // S002-049
  EXPECT_EQ(long_walk.peak_activations[0], 4);                                          // S002-052
  EXPECT_EQ(WalkOf(kGPipe, 4, 32).peak_activations[0], 32);                             // S002-051
  EXPECT_NEAR(100 * BubbleOfIdeal(WalkOf(kInterleaved, 4, 32, 2)), 4.6875, 4.6875e-9);  // S002-050
  const PipelineWalk llama = WalkOf(kOneForwardOneBackward, 16, 32);
  EXPECT_NEAR(100 * BubbleOfIdeal(llama), 46.875, 46.875e-9);       // S003-017
  EXPECT_NEAR(100 * BubbleOfWall(llama), 31.9149, 1e-5 * 31.9149);  // S003-018
}

TEST(PipelineGoldenTest, LayersOfStagesAreThoseOfTheChapters) {
  EXPECT_EQ(LayersOfStages(32, 2), std::vector<std::int64_t>(2, 16));  // S001-051
  EXPECT_EQ(LayersOfStages(32, 4), std::vector<std::int64_t>(4, 8));   // S001-079, S002-044
  std::vector<std::int64_t> llama(16, 8);
  llama.front() = llama.back() = 7;
  EXPECT_EQ(LayersOfStages(126, 16), llama);
  EXPECT_NEAR(std::accumulate(llama.begin(), llama.end(), 0.0) / 16, 8, 0.02 * 8);  // S003-031
  EXPECT_THROW(LayersOfStages(32, 3), std::invalid_argument);
  EXPECT_THROW(LayersOfStages(0, 4), std::invalid_argument);
}

// Figure 4 of SC'21: 4 ranks, 8 micro-batches, 2 chunks. The last rank begins its first backward
// pass after the chunks of one group and one pass more.
TEST(PipelineScheduleTest, InterleavedOrderIsMegatrons) {
  const PipelineShape shape{kInterleaved, 4, 8, 2};
  EXPECT_EQ(WarmUpPasses(shape, 0), 10);
  EXPECT_EQ(WarmUpPasses(shape, 3), 4);
  const PipelineSchedule schedule = SchedulePipeline(shape);
  const auto f = [](std::int64_t micro_batch, std::int64_t chunk) {
    return PipelineOp{Pass::kForward, micro_batch, chunk};
  };
  const auto b = [](std::int64_t micro_batch, std::int64_t chunk) {
    return PipelineOp{Pass::kBackward, micro_batch, chunk};
  };
  const std::vector<PipelineOp> last = {
      f(0, 0), f(1, 0), f(2, 0), f(3, 0), f(0, 1), b(0, 1), f(1, 1), b(1, 1),
      f(2, 1), b(2, 1), f(3, 1), b(3, 1), f(4, 0), b(0, 0), f(5, 0), b(1, 0),
      f(6, 0), b(2, 0), f(7, 0), b(3, 0), f(4, 1), b(4, 1), f(5, 1), b(5, 1),
      f(6, 1), b(6, 1), f(7, 1), b(7, 1), b(4, 0), b(5, 0), b(6, 0), b(7, 0)};
  EXPECT_EQ(schedule[3], last);
  EXPECT_EQ(schedule[0][10], f(6, 0));
  EXPECT_EQ(schedule[0][11], b(0, 1));
}

TEST(PipelineScheduleTest, OneChunkInterleavedIsOneForwardOneBackward) {
  EXPECT_EQ(SchedulePipeline({kInterleaved, 4, 6, 1}),
            SchedulePipeline({kOneForwardOneBackward, 4, 6, 1}));
}

// Every pass once, none that waits for ever, and the closed forms of time, bubble and memory, where
// a backward pass takes as long as a forward pass and where it takes twice as long.
TEST(PipelineScheduleTest, PlainSchedulesMeetTheirFormulae) {
  for (std::int64_t p = 1; p <= 9; ++p) {
    for (std::int64_t m = 1; m <= 20; ++m) {
      for (const PipelineKind kind : {kGPipe, kOneForwardOneBackward}) {
        for (const double backward : {1.0, 2.0}) {
          const PipelineWalk walk =
              WalkPipeline(SchedulePipeline({kind, p, m}), {.backward = {backward}});
          const auto idle = static_cast<double>(p - 1);
          const auto all = static_cast<double>(m + p - 1);
          EXPECT_EQ(walk.total, (1 + backward) * all);
          EXPECT_DOUBLE_EQ(BubbleOfWall(walk), idle / all);
          EXPECT_DOUBLE_EQ(BubbleOfIdeal(walk), idle / static_cast<double>(m));
          for (std::int64_t rank = 0; rank < p; ++rank) {
            EXPECT_EQ(walk.peak_activations[rank], kind == kGPipe ? m : std::min(p - rank, m));
          }
        }
      }
      const PipelineWalk forward = WalkOf(kForwardOnly, p, m);
      EXPECT_EQ(forward.total, static_cast<double>(m + p - 1));
      EXPECT_EQ(forward.peak_activations[0], 0);
    }
  }
}

TEST(PipelineScheduleTest, InterleavedSchedulesMeetTheirFormulae) {
  for (const std::int64_t p : {2, 3, 4, 5, 8}) {
    for (const std::int64_t v : {2, 3, 4, 7}) {
      for (const std::int64_t m : {p, 2 * p, 3 * p, 6 * p}) {
        const PipelineWalk walk = WalkOf(kInterleaved, p, m, v);
        for (const auto& list : walk.ranks) {
          std::set<std::tuple<Pass, std::int64_t, std::int64_t>> passes;
          for (const TimedOp& timed : list) {
            passes.insert({timed.op.pass, timed.op.micro_batch, timed.op.chunk});
          }
          EXPECT_EQ(static_cast<std::int64_t>(passes.size()), 2 * m * v);
        }
        const auto bubble = static_cast<double>(p - 1) / static_cast<double>(v * m);
        EXPECT_DOUBLE_EQ(BubbleOfIdeal(walk), bubble) << p << " " << m << " " << v;
        EXPECT_NEAR(BubbleOfWall(walk), bubble / (1 + bubble), 1e-12);
        // 1 + (p - 1) / (p v) times the p micro-batches of v chunks that 1F1B keeps.
        if (m > p) {
          EXPECT_EQ(walk.peak_activations[0], p * v + p - 1) << p << " " << m << " " << v;
        }
      }
    }
  }
}

TEST(PipelineScheduleTest, LongerGroupsRunThrough) {
  for (const std::int64_t p : {2, 3, 4}) {
    for (std::int64_t group = p; group <= 3 * p; ++group) {
      for (std::int64_t m = group; m <= 5 * p; ++m) {
        const PipelineShape shape{kInterleaved, p, m, 3, group};
        if (!WhyNotScheduled(shape).empty()) continue;
        const PipelineWalk walk = WalkPipeline(SchedulePipeline(shape));
        EXPECT_EQ(walk.busy, static_cast<double>(p * m * 3 * 2)) << p << " " << group << " " << m;
      }
    }
  }
}

TEST(PipelineScheduleTest, SaysWhatAShapeLacks) {
  EXPECT_EQ(WhyNotScheduled({kInterleaved, 4, 6, 2}),
            "6 micro-batches are not a multiple of pp 4, which interleaving needs");
  EXPECT_EQ(WhyNotScheduled({kInterleaved, 1, 6, 2}), "vpp 2 with pp 1: expected pp of at least 2");
  EXPECT_EQ(WhyNotScheduled({kGPipe, 4, 8, 2}),
            "vpp 2 with gpipe: only interleaved has several virtual stages a rank");
  EXPECT_EQ(WhyNotScheduled({kInterleaved, 4, 8, 2, 3}),
            "groups of 3 micro-batches: expected at least pp 4");
  EXPECT_EQ(WhyNotScheduled({kInterleaved, 4, 9, 2, 6}),
            "9 micro-batches leave 3 after groups of 6: expected none or at least pp 4");
  EXPECT_EQ(WhyNotScheduled({kInterleaved, 4, 10, 2, 6}), "");
  for (const PipelineShape& shape :
       {PipelineShape{kGPipe, 0, 1}, PipelineShape{kGPipe, 1, 0}, PipelineShape{kGPipe, 1, 1, 0}}) {
    EXPECT_THAT(WhyNotScheduled(shape), HasSubstr("expected at least 1 of each"));
    EXPECT_THROW(SchedulePipeline(shape), std::invalid_argument);
  }
}

TEST(PipelineScheduleTest, ReadsTheNamesItWrites) {
  for (const PipelineKind kind : {kForwardOnly, kGPipe, kOneForwardOneBackward, kInterleaved}) {
    EXPECT_EQ(ParsePipelineKind(Name(kind)), kind);
  }
  EXPECT_EQ(ParsePipelineKind("1F1B"), kOneForwardOneBackward);
  EXPECT_EQ(ParsePipelineKind("2f2b"), std::nullopt);
}

TEST(PipelineWalkTest, ASlowStageSetsThePace) {
  // F, B of rank 1 take 2 each: it is busy from 1 on, and rank 0 has the last backward pass.
  const PipelineWalk walk = WalkPipeline(SchedulePipeline({kOneForwardOneBackward, 2, 4}),
                                         {.forward = {1, 2}, .backward = {1, 2}});
  EXPECT_EQ(walk.total, 1 + 4 * 4 + 1);
  EXPECT_EQ(walk.busy, 4 * 2 + 4 * 4);
}

TEST(PipelineWalkTest, TransfersDelayTheNextRankOnly) {
  // One micro-batch over 3 ranks: 6 passes and 4 transfers, one behind the other.
  const PipelineWalk walk = WalkPipeline(SchedulePipeline({kGPipe, 3, 1}), {.transfer = 0.5});
  EXPECT_EQ(walk.total, 6 + 4 * 0.5);
  EXPECT_EQ(walk.busy, 6);
  EXPECT_EQ(walk.ranks[1][0].start, 1.5);
}

TEST(PipelineWalkTest, FindsSchedulesThatCannotRun) {
  PipelineSchedule schedule = SchedulePipeline({kOneForwardOneBackward, 2, 2});
  ASSERT_EQ(WhyRefused(schedule), "accepted");
  std::swap(schedule[1][0], schedule[1][1]);  // backward before its forward
  EXPECT_EQ(WhyRefused(schedule),
            "backward of micro-batch 0 through chunk 0 of rank 0 never gets what it needs");
  schedule = SchedulePipeline({kOneForwardOneBackward, 2, 2});
  schedule[0][1] = schedule[0][0];
  EXPECT_THAT(WhyRefused(schedule), HasSubstr("of rank 0 stands there twice"));
  schedule = SchedulePipeline({kOneForwardOneBackward, 2, 2});
  schedule[1].pop_back();
  EXPECT_EQ(WhyRefused(schedule), "3 operations on rank 1, expected 4");
  schedule[1].push_back({Pass::kBackward, -1, 0});
  EXPECT_THAT(WhyRefused(schedule), HasSubstr("micro-batch -1"));
}

TEST(PipelineWalkTest, RefusesTimesThatAreNone) {
  const PipelineSchedule schedule = SchedulePipeline({kGPipe, 3, 1});
  EXPECT_THAT(WhyRefused(schedule, {.forward = {1, 1}}), HasSubstr("2 times for 3 stages"));
  EXPECT_THAT(WhyRefused(schedule, {.backward = {-1}}), HasSubstr("time -1"));
  EXPECT_THAT(WhyRefused(schedule, {.transfer = -1}), HasSubstr("transfer time -1"));
}

TEST(PipelineWalkTest, TablesOfChunksNumberThem) {
  const std::vector<std::string> lines = SlotTable(WalkOf(kInterleaved, 2, 2, 2));
  ASSERT_EQ(lines.size(), 10U);  // 8 passes and a bubble of 2
  EXPECT_EQ(lines[0], "F(A0) | idle | A0");
  EXPECT_EQ(lines[2], "F(A1) | F(B0) | A0,B0,A1");
  EXPECT_EQ(lines[9], "B(B0) | idle | none");
  // A pass of two slots stands in both.
  const std::vector<std::string> slow =
      SlotTable(WalkPipeline(SchedulePipeline({kGPipe, 1, 1}), {.backward = {2}}));
  EXPECT_THAT(slow, ElementsAre("F(A) | A", "B(A) | A", "B(A) | none"));
  EXPECT_THROW(SlotTable(WalkPipeline(SchedulePipeline({kGPipe, 1, 1}), {.backward = {1.5}})),
               std::invalid_argument);
}

TEST(PipelineWalkTest, MicroBatchesHaveLetters) {
  EXPECT_EQ(MicroBatchName(0), "A");
  EXPECT_EQ(MicroBatchName(25), "Z");
  EXPECT_EQ(MicroBatchName(26), "AA");
  EXPECT_EQ(MicroBatchName(701), "ZZ");
  EXPECT_EQ(MicroBatchName(702), "AAA");
}

}  // namespace
}  // namespace hockney
