// Runs `hockney step --compute gemm` as a user does and reads what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/training/train_run.h"
#include "tests/bench/run_program.h"
#include "tests/bench/training/load_gemm.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"
#include "tuner/records/step_row.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::ScratchFolder;

constexpr char kSmall[] =
    "step --model gpt2 --scale layers=1,hidden=64,heads=4,vocab=256 --seq-length 16 --compute "
    "gemm ";

TEST(TrainProgramTest, TrainsAndWritesTheLosses) {
  if (!testing::LoadGemmOrSkip()) return;
  for (const std::string how : {"--sharding zero3", "--parallel tp=2", "--sharding zero1"}) {
    const ScratchFolder folder;
    const std::string run = folder.Path("run");
    const Outcome outcome = RunProgram(kSmall + how + " --train 4 --local 2 --out " + run);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("OpenBLAS"));
    EXPECT_THAT(outcome.out, HasSubstr("within the tolerance"));
    EXPECT_THAT(outcome.out, HasSubstr("run folder: " + run));
    const auto rows = ReadTable<LossRow>(run + "/loss.csv");
    ASSERT_EQ(rows.size(), 4U);
    for (const LossRow& row : rows) {
      EXPECT_GT(row.loss, 0);
      EXPECT_LE(LossDifference(row.loss, row.one_rank_loss.value()), kLossTolerance);
    }
    EXPECT_EQ(rows.back().step, 4);
    EXPECT_FALSE(std::filesystem::exists(run + "/step.csv"));
    EXPECT_EQ(ReadRun(run).value("outcome", ""), "finished");
  }
}

TEST(TrainProgramTest, TrainsByMpi) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "no mpirun")) return;
  if (!testing::LoadGemmOrSkip()) return;
  for (const std::string how : {"--sharding zero1", "--parallel tp=2"}) {
    const ScratchFolder folder;
    const Outcome outcome = testing::RunUnderMpi(
        2, kSmall + how + " --train 2 --implementation mpi --out " + folder.Path("run"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("within the tolerance"));
  }
}

TEST(TrainProgramTest, AStepComputesProducts) {
  if (!testing::LoadGemmOrSkip()) return;
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome =
      RunProgram(std::string(kSmall) + "--steps 2 --warmups 0 --local 2 --out " + run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = ReadSteps(run);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].compute, "gemm");
  EXPECT_EQ(rows[0].device, "");  // no accelerator is emulated, so there is no peak
  EXPECT_FALSE(rows[0].mfu);
  EXPECT_GT(rows[0].compute_ms.value(), 0);
  EXPECT_EQ(rows[0].status, Status::kOk);
}

TEST(TrainProgramTest, WhatCannotBeTrainedIsRefused) {
  if (!testing::LoadGemmOrSkip()) return;
  const struct {
    std::string arguments;
    const char* message;
  } cases[] = {
      {"step --model gpt2 --train 2 --local 1", "--compute"},
      {kSmall + std::string("--train 2 --local 2 --sharding zero2"), "zero1 or zero3"},
      {kSmall + std::string("--train 2 --local 1 --append"), "--append"},
      {"step --model resnet-50 --compute gemm --train 2 --local 1", "MLP block"},
  };
  for (const auto& each : cases) {
    const Outcome outcome = RunProgram(each.arguments);
    EXPECT_EQ(outcome.exit_code, 2) << each.arguments;
    EXPECT_THAT(outcome.err, HasSubstr(each.message));
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
  }
}

}  // namespace
}  // namespace hockney
