// `hockney import` as its users run it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/run_program.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::ScratchFolder;
namespace fs = std::filesystem;

std::string Log(const std::string& name) { return std::string(HOCKNEY_TEST_DATA) + "/" + name; }

nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

TEST(ImportProgramTest, ALogBecomesARunFolderThatFitReads) {
  const ScratchFolder folder;
  const std::string out = folder.Path("osu");
  const Outcome run = RunProgram("import " + Log("osu-7.4-ompi-np4-allreduce-full.log") +
                                 " --ranks 4 --library 'Open MPI 4.1.4' --nodes 1 --out " + out);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "OSU: all_reduce, 4 ranks, 21 rows: " + out + "\n");
  const std::vector<SweepRow> rows = ReadSweep(out);
  ASSERT_EQ(rows.size(), 21U);
  EXPECT_EQ(rows.back().size_bytes, 1048576U);
  EXPECT_EQ(rows.back().time_us_mean, 1595.78);
  EXPECT_EQ(rows.back().nodes, 1);
  EXPECT_EQ(rows.back().parameters,
            "fastest_rank_us=1514.81;library=Open MPI 4.1.4;slowest_rank_us=1667.93;"
            "statistic=mean");
  const nlohmann::json json = ReadJson(out + "/run.json");
  EXPECT_EQ(json["command"], "import");
  EXPECT_EQ(json["import"]["format"], "OSU");
  EXPECT_EQ(json["import"]["version"], "7.4");
  EXPECT_EQ(json["import"]["ranks_from"], "--ranks");
  EXPECT_EQ(json["import"]["statistic"], "mean");
  const Outcome fit = RunProgram("fit " + out);
  EXPECT_EQ(fit.exit_code, 0) << fit.err;
  const nlohmann::json model = ReadJson(out + "/model.json");
  ASSERT_EQ(model["algorithms"].size(), 1U);
  EXPECT_EQ(model["algorithms"][0]["variant"], "mpi default library=Open MPI 4.1.4");
  EXPECT_EQ(model["algorithms"][0]["ranks"], 4);
}

TEST(ImportProgramTest, BothPlacementsAreFitted) {
  const ScratchFolder folder;
  const std::string out = folder.Path("nccl");
  const Outcome run = RunProgram("import " + Log("nccl-all_reduce-8xH100.log") + " --out " + out);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "nccl-tests: all_reduce, 8 ranks, 32 rows (64 with both placements): " + out + "\n");
  EXPECT_EQ(RunProgram("fit " + out).exit_code, 0);
  EXPECT_EQ(ReadJson(out + "/model.json")["algorithms"].size(), 2U);
}

TEST(ImportProgramTest, ALogOfNcclIsFittedAndGivesRulesWhereItsAlgorithmIsNamed) {
  const ScratchFolder folder;
  const std::string plain = folder.Path("plain");
  ASSERT_EQ(RunProgram("import " + Log("nccl-all_reduce-8xH100.log") + " --out " + plain).exit_code,
            0);
  const Outcome none = RunProgram("tune " + plain + " --export nccl");
  EXPECT_THAT(none.out, HasSubstr("no file for NCCL"));
  const std::string named = folder.Path("named");
  ASSERT_EQ(RunProgram("import " + Log("nccl-all_reduce-8xH100.log") +
                       " --nccl-algorithm nvls --nccl-protocol simple --out " + named)
                .exit_code,
            0);
  EXPECT_EQ(RunProgram("fit " + named).exit_code, 0);
  EXPECT_EQ(RunProgram("tune " + named + " --export nccl").exit_code, 0);
  std::ifstream rules(named + "/exports/nccl_tuner.csv");
  const std::string text((std::istreambuf_iterator<char>(rules)), {});
  EXPECT_THAT(text, HasSubstr("allreduce,"));
  EXPECT_THAT(text, HasSubstr(",nvls,simple,"));
  EXPECT_EQ(RunProgram("import " + Log("nccl-all_reduce-8xH100.log") +
                       " --nccl-algorithm ring --out " + folder.Path("x"))
                .exit_code,
            2);
  const Outcome unknown =
      RunProgram("import " + Log("nccl-all_reduce-8xH100.log") +
                 " --nccl-algorithm rings --nccl-protocol simple --out " + folder.Path("y"));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--nccl-algorithm: \"rings\": expected one of tree ring"));
}

TEST(ImportProgramTest, PingPongBecomesALink) {
  const ScratchFolder folder;
  const std::string out = folder.Path("ucx");
  const Outcome run = RunProgram("import " + Log("ucx_perftest-1.13.1-tag_lat-batch.csv") +
                                 " --nodes 1 --out " + out);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadLinks(out).size(), 7U);
  EXPECT_EQ(RunProgram("fit " + out).exit_code, 0);
  EXPECT_EQ(ReadJson(out + "/model.json")["levels"][0]["level"], "node");
}

TEST(ImportProgramTest, EveryTableIsAFolder) {
  const ScratchFolder folder;
  const std::string out = folder.Path("many");
  const std::string words = "import " + Log("nccl-several-tests-10xH100-double-appended.log") +
                            " " + Log("osu-7.4-np2-allreduce-two-runs-appended.log") +
                            " --ranks 2 --library A,A,A,A,A,'Open MPI 4.1.4','MPICH 4.0.2' --out ";
  const Outcome run = RunProgram(words + out);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::vector<Collective> collectives = {Collective::kAllReduce,     Collective::kAllGather,
                                               Collective::kReduceScatter, Collective::kAllToAll,
                                               Collective::kSendRecv,      Collective::kAllReduce,
                                               Collective::kAllReduce};
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const std::vector<SweepRow> rows = ReadSweep(fmt::format("{}-{}", out, i + 1));
    EXPECT_EQ(rows.at(0).collective, collectives[i]);
    EXPECT_EQ(rows.at(0).ranks, i < 5 ? 10 : 2);
  }
  EXPECT_EQ(FindParameter(ReadSweep(out + "-5").at(0), "library"), "NCCL 2.29.2");
  EXPECT_EQ(FindParameter(ReadSweep(out + "-6").at(0), "library"), "Open MPI 4.1.4");
  EXPECT_EQ(FindParameter(ReadSweep(out + "-7").at(0), "library"), "MPICH 4.0.2");
  const Outcome again = RunProgram(words + out);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("--out"), HasSubstr("many-1 exists")));
}

TEST(ImportProgramTest, WithoutOutFoldersAreNamedByTheTime) {
  const ScratchFolder folder;
  const Outcome run = RunShell("cd " + folder.Path("") + "; $HOCKNEY import " +
                               Log("nccl-all_reduce-srun-labels-two-runs-no-footer.log"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::size_t rows = 0;
  for (const auto& each : fs::directory_iterator(folder.path() / "hockney-runs")) {
    EXPECT_THAT(each.path().filename().string(), HasSubstr("_import"));
    rows += ReadSweep(each.path().string()).size();
  }
  EXPECT_EQ(rows, 2U * (29 + 32));
}

TEST(ImportProgramTest, WhatIsNotKnownIsAskedForInOneLine) {
  const ScratchFolder folder;
  const std::string out = folder.Path("x");
  const auto refusal = [&](const std::string& words) {
    const Outcome run = RunProgram("import " + words + " --out " + out);
    EXPECT_EQ(run.exit_code, 2) << words;
    EXPECT_THAT(run.err, MatchesRegex("hockney import: [^\n]+\n")) << words;
    EXPECT_FALSE(fs::exists(out)) << words;
    return run.err;
  };
  EXPECT_THAT(refusal(Log("osu-7.4-ompi-np4-alltoall.log") + " --library 'Open MPI 4.1.4'"),
              HasSubstr("alltoall.log:4:1: the log does not say how many ranks ran: expected "
                        "--ranks N"));
  EXPECT_THAT(refusal(Log("imb-2021.11-ompi-np2-bcast.log")), HasSubstr("--library NAME"));
  EXPECT_THAT(refusal(Log("ucx_perftest-1.13.1-tag_lat-8B.csv")), HasSubstr("--size BYTES"));
  EXPECT_THAT(refusal(Log("topo-m-8gpu-pcie-sys-tabs.txt")), HasSubstr("no table in it"));
  EXPECT_THAT(refusal(folder.Path("none.log")), HasSubstr("none.log: cannot be read"));
  EXPECT_THAT(refusal(Log("imb-2021.11-ompi-np2-bcast.log") + " --ranks 1,2 --library A"),
              HasSubstr("--ranks: \"1,2\": expected one value"));
  EXPECT_THAT(refusal(Log("imb-2021.11-ompi-np2-bcast.log") + " --library 'a;b'"),
              HasSubstr("--library"));
  EXPECT_THAT(refusal(Log("imb-2021.11-ompi-np2-bcast.log") + " --library A --dtype float33"),
              HasSubstr("--dtype"));
}

// Our own tables, whose rows come back as they were printed, and the file of -J as it holds them.
class RoundTripTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundTripTest, OurOwnTablesGiveTheirRows) {
  const ScratchFolder folder;
  const std::string name = GetParam();
  const Outcome run =
      RunShell("cd " + folder.Path("") + "; ln -s $HOCKNEY " + name + "; ./" + name +
               " -b 64 -e 64K -f 4 -g 3 -n 4 -d half -J x.json > x.log && $HOCKNEY "
               "import x.log --out text && $HOCKNEY import x.json --out json");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::vector<SweepRow> text = ReadSweep(folder.Path("text"));
  const std::vector<SweepRow> json = ReadSweep(folder.Path("json"));
  const nlohmann::json results = ReadJson(folder.Path("x.json"))["results"];
  ASSERT_EQ(text.size(), json.size());
  std::size_t at = 0;
  for (const auto& result : results) {
    for (const char* side : {"out_of_place", "in_place"}) {
      if (result[side].is_null()) continue;
      ASSERT_LT(at, text.size());
      const SweepRow& row = json[at];
      EXPECT_EQ(row.size_bytes, result["size"]);
      EXPECT_EQ(row.count, result["count"].get<std::uint64_t>());
      EXPECT_EQ(row.time_us_mean, result[side]["time"].get<double>());
      EXPECT_EQ(row.in_place, side == std::string("in_place"));
      EXPECT_EQ(row.errors, 0U);
      EXPECT_EQ(row.dtype, DataType::kFloat16);
      EXPECT_EQ(row.ranks, 3);
      EXPECT_EQ(row.samples, 4U);
      EXPECT_EQ(row.implementation, "hockney");
      SweepRow printed = text[at];
      EXPECT_NEAR(*printed.time_us_mean, *row.time_us_mean, 0.005 + 1e-4 * *row.time_us_mean);
      // The same but for digits.
      printed.time_us_mean = printed.time_us_median = row.time_us_mean;
      printed.algbw_GBps = row.algbw_GBps;
      printed.busbw_GBps = row.busbw_GBps;
      EXPECT_EQ(RowLine(printed), RowLine(row));
      ++at;
    }
  }
  EXPECT_EQ(at, text.size());
  EXPECT_GE(at, 6U);
}

INSTANTIATE_TEST_SUITE_P(All, RoundTripTest,
                         ::testing::Values("all_reduce_perf", "all_gather_perf",
                                           "reduce_scatter_perf", "alltoall_perf", "broadcast_perf",
                                           "reduce_perf", "sendrecv_perf", "gather_perf",
                                           "scatter_perf"));

TEST(ImportProgramTest, ASweepsTableOfThatFormatIsRead) {
  const ScratchFolder folder;
  const std::string sweep = folder.Path("sweep");
  const std::string out = folder.Path("import");
  const Outcome run = RunShell(
      "$HOCKNEY sweep all_gather --local 2 -b 64 -e 64K -f 4 -n 6 -w 0 "
      "--algorithm ring --format nccl-tests --out " +
      sweep + " > " + folder.Path("x.log") + " && $HOCKNEY import " + folder.Path("x.log") +
      " --out " + out);
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::vector<SweepRow> rows = ReadSweep(out);
  ASSERT_EQ(rows.size(), 12U);
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.collective, Collective::kAllGather);
    EXPECT_EQ(row.implementation, "hockney");
    EXPECT_EQ(row.ranks, 2);
    EXPECT_EQ(row.memory_kind, "host");
  }
}

}  // namespace
}  // namespace hockney
