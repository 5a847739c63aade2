// Runs hockney step as a user does and reads what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::ScratchFolder;

constexpr const char* kTimes =
    "unit,forward_ms,backward_ms\nembedding,0.5,1\nblock,1,2\nhead,0.5,1\n";

// A small step of `ranks` rank threads.
Outcome RunStep(
    const ScratchFolder& folder, int ranks, const std::string& more,
    const std::string& model = "gpt2 --scale layers=4,hidden=128,vocab=256 --seq-length 64") {
  return RunProgram("step --local " + std::to_string(ranks) +
                    " --steps 2 --warmups 1 --append --out " + folder.Path("run") +
                    " --layer-times " + folder.Write("times.csv", kTimes) + " --model " + model +
                    " " + more);
}

TEST(StepProgramTest, EveryStrategyRunsWithTheRightGradients) {
  const std::string mixtral =
      "mixtral-8x7b --scale layers=2,hidden=128,ffn=128,experts=4,vocab=256 --seq-length 64";
  const std::pair<std::string, std::string> strategies[] = {
      {"", "--sharding ddp"},
      {"", "--sharding ddp --micro-batches 2 --sync-every"},
      {"", "--sharding zero1"},
      {"", "--sharding zero2 --micro-batches 2"},
      {"", "--sharding zero3 --prefetch 0"},
      {"", "--sharding fsdp --prefetch 2"},
      {"", "--sharding hybrid --shard-ranks 2"},
      {"", "--parallel tp=2"},
      {"", "--parallel tp=2 --sequence-parallel"},
      {"", "--parallel cp=2"},
      {"", "--parallel pp=2 --micro-batches 4 --pipeline gpipe"},
      {"", "--parallel pp=4 --micro-batches 4"},
      {"", "--parallel pp=2 --micro-batches 4 --pipeline interleaved --chunks 2"},
      {"", "--parallel tp=2,pp=2 --micro-batches 2"},
      {mixtral, "--parallel ep=2"},
      {mixtral, "--parallel ep=4 --expert-skew 2"},
  };
  for (const auto& [model, options] : strategies) {
    const ScratchFolder folder;
    const Outcome outcome =
        model.empty() ? RunStep(folder, 4, options) : RunStep(folder, 4, options, model);
    ASSERT_EQ(outcome.exit_code, 0) << options << outcome.err;
    const std::vector<StepRow> rows = ReadSteps(folder.Path("run"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].status, Status::kOk) << options << rows[0].reason;
    EXPECT_EQ(rows[0].data_errors, 0);
    EXPECT_EQ(rows[0].steps, 2);
    EXPECT_GT(rows[0].collectives, 0);
    EXPECT_GE(*rows[0].step_ms_median, *rows[0].compute_ms * 0.9) << options;
    EXPECT_GT(*rows[0].tokens_per_s, 0);
  }
}

TEST(StepProgramTest, TheFolderHoldsTheTimelineAndTheGraph) {
  const ScratchFolder folder;
  ASSERT_EQ(RunStep(folder, 2, "--sweep-buckets 0.25,1,100").exit_code, 0);
  EXPECT_EQ(ReadSteps(folder.Path("run")).size(), 4U);
  std::ifstream trace(folder.Path("run") + "/timeline.json");
  const auto events = nlohmann::json::parse(trace)["traceEvents"];
  std::ifstream file(folder.Path("run") + "/step_graph.json");
  const auto graph = nlohmann::json::parse(file);
  EXPECT_EQ(graph["schema"], 1);
  std::size_t nodes = 0;
  for (const auto& event : events) nodes += event["ph"] == "X" ? 1 : 0;
  EXPECT_EQ(nodes, graph["nodes"].size());
  std::ifstream run(folder.Path("run") + "/run.json");
  const auto json = nlohmann::json::parse(run);
  EXPECT_EQ(json["outcome"], "finished");
  EXPECT_EQ(json["compute"], "emulated");
}

// Public case B22: what is reduced in half precision is half as long on the wire.
TEST(StepProgramTest, HalfPrecisionGradientsHalveTheBytes) {
  const ScratchFolder folder;
  ASSERT_EQ(RunStep(folder, 2, "").exit_code, 0);
  ASSERT_EQ(RunStep(folder, 2, "--gradient-dtype float16").exit_code, 0);
  const auto rows = ReadSteps(folder.Path("run"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].communicated_bytes, 2 * rows[1].communicated_bytes);
}

// Public case B24: another cap may change low bits, never what every rank holds.
TEST(StepProgramTest, GradientsOfThreeRanksAreRightWithEveryCap) {
  const ScratchFolder folder;
  ASSERT_EQ(RunStep(folder, 3, "--sweep-buckets 1,25").exit_code, 0);
  for (const StepRow& row : ReadSteps(folder.Path("run"))) EXPECT_EQ(row.data_errors, 0);
}

// Public case B57.
TEST(StepProgramTest, CapsThatMeanNothingAreRefusedAndExtremesRun) {
  const ScratchFolder folder;
  for (const char* cap : {"0", "-1", "nan", "inf", "25MB", "x", "''"}) {
    const Outcome outcome = RunStep(folder, 2, std::string("--bucket-cap=") + cap);
    if (std::string(cap) == "''") continue;  // as if it were not given
    EXPECT_EQ(outcome.exit_code, 2) << cap;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--bucket-cap"), HasSubstr("expected"))) << cap;
  }
  ASSERT_EQ(RunStep(folder, 2, "--bucket-cap 1e30").exit_code, 0);
  const Outcome one = RunStep(folder, 2, "--bucket-cap 1e9");
  EXPECT_THAT(one.out, HasSubstr("no reduction can overlap"));
  ASSERT_EQ(RunStep(folder, 2, "--bucket-cap 1e-9").exit_code, 0);
  EXPECT_EQ(ReadSteps(folder.Path("run")).back().gradient_buckets, 2 + 4 * 12 + 2);
  const Outcome none = RunStep(folder, 2, "", folder.Write("none.csv", "name,shape,dtype\n"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no parameters"));
  ASSERT_EQ(
      RunProgram("step --local 2 --steps 1 --warmups 0 --device H100 --out " + folder.Path("tiny") +
                 " --model " + folder.Write("tiny.csv", "name,shape,dtype\nw,1,float32\n"))
          .exit_code,
      0);
}

// Public case B58: buckets that are shared out are padded, each for itself.
TEST(StepProgramTest, ShardsOfAnyNumberOfRanksArePaddedAndRight) {
  for (const int ranks : {3, 5, 7}) {
    const ScratchFolder folder;
    const Outcome outcome =
        RunProgram("step --local " + std::to_string(ranks) +
                   " --steps 1 --warmups 0 --device H100 --sharding zero1 --out " +
                   folder.Path("run") + " --model " +
                   folder.Write("m.csv", "name,shape,dtype\na.0.w,10,float32\na.1.w,2,float32\n"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const StepRow row = ReadSteps(folder.Path("run"))[0];
    EXPECT_EQ(row.data_errors, 0) << row.reason;
    EXPECT_EQ(row.padding_bytes, 4 * ((12 + ranks - 1) / ranks * ranks - 12));
  }
}

// Public case B60.
TEST(StepProgramTest, UnlikeModelsEndOnAllRanksNamingTheFirstDifference) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun not found")) return;
  const std::string good = "name,shape,dtype\na,100x500,float32\nb,7,float32\n";
  const std::pair<const char*, const char*> others[] = {
      {"name,shape,dtype\na,10000x500,float32\nb,7,float32\n",
       "parameter 0 is \"a 100x500 float32\" on rank 0 and \"a 10000x500 float32\" on rank 1"},
      {"name,shape,dtype\na,100x500,float32\nb,7,float32\nc,1,float32\n",
       "parameter 2 is \"missing\" on rank 0 and \"c 1 float32\" on rank 1"},
      {"name,shape,dtype\nb,7,float32\na,100x500,float32\n", "parameter 0 is"},
      {"name,shape,dtype\na,100x500,float32\nb,7,float16\n",
       "parameter 1 is \"b 7 float32\" on rank 0 and \"b 7 float16\" on rank 1"}};
  for (const auto& [other, message] : others) {
    const ScratchFolder folder;
    std::filesystem::create_directories(folder.path() / "r0");
    std::filesystem::create_directories(folder.path() / "r1");
    folder.Write("r0/m.csv", good);
    folder.Write("r1/m.csv", other);
    const Outcome outcome =
        RunShell(testing::MpirunWords(2) + " sh -c 'cd " + folder.path().string() +
                 "/r$OMPI_COMM_WORLD_RANK && exec $HOCKNEY step --model m.csv --steps 1'");
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
}

TEST(StepProgramTest, BadOptionsNameThemselves) {
  const ScratchFolder folder;
  const std::pair<const char*, const char*> bad[] = {
      {"--sharding zero9", "--sharding: \"zero9\": expected ddp"},
      {"--parallel tp=3", "tp=3"},
      {"--parallel xx=2", "xx"},
      {"--pipeline zigzag", "--pipeline: \"zigzag\": expected gpipe"},
      {"--sharding hybrid --shard-ranks 3", "--shard-ranks: 3"},
      {"--prefetch 7", "--prefetch 7: expected 0, 1 or 2"},
      {"--buckets other", "--buckets: \"other\": expected rebuilt"},
      {"--efficiency 2 --device H100", "--efficiency"},
      {"--device abacus", "--device: \"abacus\": expected one of A100"},
      {"--dtype int9", "--dtype"},
      {"--sweep-buckets 1,,5", "--sweep-buckets"},
      {"--expert-skew 1", "--expert-skew"},
      {"--shard-ranks 2", "--shard-ranks 2: expected none but with --sharding hybrid"},
      {"--sharding zero2 --prefetch 2", "--prefetch 2: expected none but"},
      {"--sequence-parallel", "--sequence-parallel: expected it with"},
      {"--sharding zero3 --bucket-cap 5", "--bucket-cap, --sweep-buckets: expected none"},
      {"--sharding hybrid --shard-ranks 2 --sweep-buckets auto", "--sweep-buckets: expected none"},
      {"--micro-batches 2147483647", "--micro-batches 2147483647: expected 1 to"},
      {"--micro-batch 0", "--micro-batch 0: expected 1 to"},
      {"--efficiency 1e-300 --device H100", "--efficiency: \"1e-300\""},
      {"--train 0", "--train: Value 0 not in range"},
      {"--dtype int8", "--dtype: \"int8\": expected a floating-point type"},
      {"--gradient-dtype uint32", "--gradient-dtype: \"uint32\": expected a floating-point type"},
      {"--parallel pp=2 --micro-batches 3 --pipeline interleaved --chunks 2", "micro"}};
  for (const auto& [options, message] : bad) {
    const Outcome outcome = RunStep(folder, 4, options);
    EXPECT_EQ(outcome.exit_code, 2) << options << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << options;
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
  }
  EXPECT_EQ(RunProgram("step --local 2").exit_code, 2);
  EXPECT_EQ(RunProgram("step --local 2 --model gpt9").exit_code, 2);
}

TEST(StepProgramTest, MpisCollectivesDoTheSameSteps) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun not found")) return;
  const ScratchFolder folder;
  for (const char* options : {"--sharding ddp", "--sharding zero1", "--sharding zero3",
                              "--parallel pp=2 --micro-batches 2"}) {
    const Outcome outcome =
        testing::RunUnderMpi(2,
                             "step --model gpt2 --scale layers=4,hidden=128,vocab=256 --seq-length "
                             "64 --implementation mpi --steps 1 --warmups 0 "
                             "--append --out " +
                                 folder.Path("run") + " --layer-times " +
                                 folder.Write("times.csv", kTimes) + " " + options);
    ASSERT_EQ(outcome.exit_code, 0) << options << outcome.err;
    EXPECT_EQ(ReadSteps(folder.Path("run")).back().data_errors, 0);
  }
}

TEST(StepProgramTest, LaunchesAddUpAndFoldersOfOtherCommandsAreNotAddedTo) {
  const ScratchFolder folder;
  ASSERT_EQ(RunStep(folder, 2, "").exit_code, 0);
  ASSERT_EQ(RunStep(folder, 2, "--sharding zero1").exit_code, 0);
  const auto rows = ReadSteps(folder.Path("run"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].launch, 0);
  EXPECT_EQ(rows[1].launch, 1);
  std::ifstream file(folder.Path("run") + "/run.json");
  const auto launches = nlohmann::json::parse(file)["launches"];
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_NE(launches[0]["command_line"], launches[1]["command_line"]);
  const std::string sweep = "sweep all_reduce --local 2 -b 8 -e 8 -n 2 --append --out ";
  const Outcome into_steps = RunProgram(sweep + folder.Path("run"));
  EXPECT_EQ(into_steps.exit_code, 2);
  EXPECT_THAT(into_steps.err, HasSubstr("is a run of hockney step: expected one of hockney sweep"));

  std::filesystem::remove(folder.Path("run") + "/run.json");
  const Outcome no_run = RunStep(folder, 2, "");
  EXPECT_EQ(no_run.exit_code, 2);
  EXPECT_THAT(no_run.err, HasSubstr("has files but no run.json"));

  const std::string sweeps = folder.Path("sweep");
  ASSERT_EQ(RunProgram(sweep + sweeps).exit_code, 0);
  const Outcome into_sweep = RunProgram(
      "step --local 2 --model gpt2 --scale layers=1,hidden=64 --seq-length 16 --append --out " +
      sweeps);
  EXPECT_EQ(into_sweep.exit_code, 2);
  EXPECT_THAT(into_sweep.err, HasSubstr("is a run of hockney sweep"));
}

TEST(StepProgramTest, TuneTrainingPicksABucketAndSaysHowFarOffItWas) {
  const ScratchFolder folder;
  ASSERT_EQ(
      RunProgram("links --local-processes 2 -e 64K --kernels none --out " + folder.Path("links"))
          .exit_code,
      0);
  ASSERT_EQ(
      RunProgram("fit " + folder.Path("links") + " --out " + folder.Path("model.json")).exit_code,
      0);
  ASSERT_EQ(RunStep(folder, 2, "--sweep-buckets 0.25,1").exit_code, 0);
  const Outcome outcome = RunProgram("tune " + folder.Path("run") + " --training gpt2 --model " +
                                     folder.Path("model.json") + " --export ddp --export horovod");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("best"), HasSubstr("3 measured steps: mean error"),
                    HasSubstr("bucket_cap_mb="), HasSubstr("HOROVOD_FUSION_THRESHOLD=")));
  std::ifstream file(folder.Path("run") + "/training.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["measured"].size(), 3U);
  EXPECT_GE(json["buckets"].size(), 3U);
  EXPECT_EQ(RunProgram("tune --training gpt2 --model " + folder.Path("model.json") + " --out " +
                       folder.Path("t.json"))
                .exit_code,
            2);  // neither steps nor --shape
  EXPECT_EQ(RunProgram("tune --training gpt2 --shape 2x1 --model " + folder.Path("model.json") +
                       " --out " + folder.Path("t.json") + " --export nccl")
                .exit_code,
            2);
  EXPECT_FALSE(std::filesystem::exists(folder.Path("t.json")));
  const Outcome missing = RunProgram("tune " + folder.Path("nowhere") +
                                     " --training gpt2 --model " + folder.Path("model.json"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere: no run.json"));
}

// Whoever walks values that are nested so deep runs out of stack.
TEST(StepProgramTest, FilesOfEndlessBracketsAreRefused) {
  const ScratchFolder folder;
  const std::string deep =
      folder.Write("deep.json", std::string(300'000, '[') + std::string(300'000, ']'));
  for (const std::string& command :
       {"step --local 2 --model " + deep, "step --local 2 --model gpt2 --cluster-file " + deep,
        "tune --training gpt2 --shape 2x1 --model " + deep,
        "simulate all_reduce --ranks 4 --cluster " + deep,
        "sweep all_reduce --local 2 -b 8 -e 8 -n 2 --tuned " + deep}) {
    const Outcome outcome = RunProgram(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("deep.json:1:257: brackets within 256 others")) << command;
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
  }
}

}  // namespace
}  // namespace hockney
