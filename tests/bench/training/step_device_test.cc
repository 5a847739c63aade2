// Steps on memory of devices, by the program with threads of the CPU in place of GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/training/step_devices.h"
#include "collectives/executors/cuda/device_queue.h"
#include "tests/bench/run_program.h"
#include "tests/collectives/thread_device.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "topology/session.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using testing::RunShell;
using testing::ScratchFolder;

constexpr const char* kTimes =
    "unit,forward_ms,backward_ms\nembedding,0.5,1\nblock,1,2\nhead,0.5,1\n";

// What the program is called with for one small step.
std::string StepWords(const ScratchFolder& folder, const std::string& more) {
  return HOCKNEY_ON_THREADS
         " step --model gpt2 --scale layers=2,hidden=128,vocab=64 --seq-length 16 --steps 1 "
         "--warmups 0 --layer-times " +
         folder.Write("times.csv", kTimes) + " --append --out " + folder.Path("run") + " " + more;
}

nlohmann::json ReadRun(const ScratchFolder& folder) {
  std::ifstream file(folder.Path("run") + "/run.json");
  return nlohmann::json::parse(file);
}

TEST(StepDeviceTest, EveryStrategyRunsWithTheRightGradients) {
  for (const char* options : {"--sharding ddp", "--sharding zero1", "--sharding zero3",
                              "--sharding hybrid --shard-ranks 2", "--parallel tp=2",
                              "--parallel pp=2 --micro-batches 2"}) {
    const ScratchFolder folder;
    const Outcome outcome =
        RunShell(StepWords(folder, "--memory cuda --local 4 " + std::string(options)));
    ASSERT_EQ(outcome.exit_code, 0) << options << outcome.err;
    const auto rows = ReadSteps(folder.Path("run"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].memory_kind, "cuda");
    EXPECT_EQ(rows[0].status, Status::kOk) << options << rows[0].reason;
    EXPECT_EQ(rows[0].data_errors, 0) << options;
    EXPECT_GT(rows[0].collectives, 0);
    EXPECT_GE(*rows[0].step_ms_median, *rows[0].compute_ms * 0.9) << options;
    const auto run = ReadRun(folder);
    EXPECT_EQ(run["memory_kind"], "cuda");
    EXPECT_EQ(run["devices"].size(), 4U);
    EXPECT_EQ(run["ranks_on_device"], 2);
  }
}

TEST(StepDeviceTest, RanksThatAreProcessesOpenEachOthersMemory) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "no mpirun")) return;
  const ScratchFolder folder;
  const Outcome outcome =
      RunShell(testing::MpirunWords(2) + StepWords(folder, "--memory cuda --peer-memory fd"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(ReadSteps(folder.Path("run")).at(0).data_errors, 0);
}

TEST(StepDeviceTest, WrongGradientsAreNoticed) {
  const ScratchFolder folder;
  const Outcome outcome =
      RunShell("HOCKNEY_TEST_DEVICES=corrupt " + StepWords(folder, "--memory cuda --local 2"));
  EXPECT_EQ(outcome.exit_code, 5) << outcome.out;
  const auto rows = ReadSteps(folder.Path("run"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].status, Status::kWrongData);
  EXPECT_GT(rows[0].data_errors, 0);
}

// What communicates goes on while the other queue of the same device does not.
TEST(StepDeviceTest, ComputingHasAQueueOfItsOwn) {
  const DeviceSource source{
      .find = [] { return CudaDevices{.count = 2}; },
      .open =
          [](int ordinal) {
            return testing::MakeThreadDevice({.id = "device " + std::to_string(ordinal)});
          }};
  RunThreadRanks(2, 30, [&](Session& session) {
    Session local = session.SplitSharedMemory();
    const StepDevices devices(session, local, source);
    Device& communicating = devices.communicating().device();
    EXPECT_EQ(devices.computing().id(), communicating.id());
    EXPECT_EQ(communicating.id(), "device " + std::to_string(session.rank()));
    const auto computed = devices.computing().MakeMark();
    const auto communicated = communicating.MakeMark();
    {
      const HeldQueue held(devices.computing());
      computed->Enqueue();
      WaitForQueue(*communicated);
      EXPECT_FALSE(computed->Reached());
    }
    WaitForQueue(*computed);
    session.Barrier();
  });
}

TEST(StepDeviceTest, StepsOnTheHostSaySo) {
  const ScratchFolder folder;
  const Outcome outcome = RunShell(StepWords(folder, "--local 2"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(ReadSteps(folder.Path("run")).at(0).memory_kind, "host");
}

TEST(StepDeviceTest, FilesWithoutTheColumnAreOfTheHost) {
  const auto rows = ReadSteps(HOCKNEY_SOURCE "/results/step_bars/hidden");
  ASSERT_THAT(rows, Not(IsEmpty()));
  EXPECT_EQ(rows[0].memory_kind, "host");
}

TEST(StepDeviceTest, WhatIsMissingEndsTheRunInOneLine) {
  const std::pair<const char*, const char*> missing[] = {
      {"--implementation nccl", "no GPU for NCCL"}, {"--compute gemm", "cuBLAS"}};
  for (const auto& [options, message] : missing) {
    const ScratchFolder folder;
    const Outcome outcome =
        RunShell(StepWords(folder, "--memory cuda --local 2 " + std::string(options)));
    EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
    if (!std::filesystem::exists(folder.Path("run"))) continue;  // missing before there was one
    EXPECT_EQ(ReadRun(folder).value("outcome", ""), "failed");
    EXPECT_EQ(ReadRun(folder).value("exit_code", 0), 3);
  }
  const ScratchFolder folder;
  const Outcome none =
      RunShell("HOCKNEY_TEST_DEVICES=0 " + StepWords(folder, "--memory cuda --local 2"));
  EXPECT_EQ(none.exit_code, 3) << none.out;
  EXPECT_THAT(none.err, HasSubstr("no GPU: none was asked for"));
}

TEST(StepDeviceTest, OptionsThatDoNothingAreRefused) {
  const std::pair<const char*, const char*> bad[] = {
      {"--memory disk", "--memory: \"disk\": expected one of host cuda"},
      {"--peer-memory fd", "--peer-memory: \"fd\": expected --memory cuda"},
      {"--memory cuda --peer-memory usb", "--peer-memory: \"usb\": expected one of ipc fd"},
      {"--implementation nccl", "--implementation: \"nccl\": expected --memory cuda"},
      {"--memory cuda --implementation mpi", "\"mpi\": expected hockney or nccl"},
      {"--memory cuda --compute gemm --train 3", "--memory: \"cuda\": expected host"}};
  for (const auto& [options, message] : bad) {
    const ScratchFolder folder;
    const std::string append = " --append";
    std::string words = StepWords(folder, "--local 2 " + std::string(options));
    words.erase(words.find(append), append.size());  // which --train has no use for
    const Outcome outcome = RunShell(words);
    EXPECT_EQ(outcome.exit_code, 2) << options << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
  }
}

}  // namespace
}  // namespace hockney
