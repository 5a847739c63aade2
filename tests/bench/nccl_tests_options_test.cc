#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "bench/nccl_tests/environment.h"
#include "bench/nccl_tests/exit_code.h"
#include "bench/nccl_tests/flags.h"
#include "bench/nccl_tests/names.h"
#include "bench/nccl_tests/options.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

NcclTestsOptions Parse(Words words) {
  words.insert(words.begin(), "/opt/nccl-tests/all_reduce_perf");
  return ParseNcclTestsOptions(Collective::kAllReduce, words);
}

std::string Refused(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "not refused";
}

std::string RefusedWords(const Words& words) {
  return Refused([&] { Parse(words); });
}

bool HasBadSizes(const Words& words) {
  try {
    Parse(words);
  } catch (const BadSizesError&) {
    return true;
  } catch (const UsageError&) {
    return false;
  }
  return false;
}

struct FlagCase {
  std::string short_name;
  std::string long_name;
  std::string value;
  std::function<void(NcclTestsOptions&)> set;
  Words beside = {};
};

std::vector<FlagCase> FlagCases() {
  using O = NcclTestsOptions;
  const auto sizes = [](O& o, std::vector<std::uint64_t> list) { o.sizes = std::move(list); };
  return {
      {"-t", "--nthreads", "3", [](O& o) { o.threads = 3; }},
      {"-g", "--ngpus", "8", [](O& o) { o.gpus = 8; }},
      {"-b", "--minbytes", "31M",
       [=](O& o) {
         o.begin_bytes = 31 << 20, sizes(o, {31 << 20, 32 << 20});
       }},
      {"-e", "--maxbytes", "33m",
       [=](O& o) {
         o.end_bytes = 33 << 20, sizes(o, {32 << 20, 33 << 20});
       }},
      {"-i", "--stepbytes", "1K", [](O& o) { o.increment_bytes = 1024; }},
      {"-f", "--stepfactor", "2", [](O& o) { o.factor = 2; }},
      {"-n", "--iters", "200", [](O& o) { o.iterations = 200; }},
      {"-w", "--warmup_iters", "0", [](O& o) { o.warmups = 0; }},
      {"-m", "--agg_iters", "4", [](O& o) { o.aggregated = 4; }},
      {"-N", "--run_cycles", "0", [](O& o) { o.cycles = 0; }},
      {"-p", "--parallel_init", "0", [](O&) {}},
      {"-c", "--check", "0", [](O& o) { o.checks = 0; }},
      {"-o", "--op", "avg", [](O& o) { o.ops = {ReduceOp::kAvg}; }},
      {"-d", "--datatype", "f8e5m2", [](O& o) { o.types = {DataType::kFloat8E5m2}; }},
      {"-r", "--root", "-1", [](O& o) { o.root = -1; }},
      {"-r", "--root", "all", [](O& o) { o.root = -1; }},
      {"-r", "--root", "5", [](O& o) { o.root = 5; }},
      {"-z", "--blocking", "1", [](O& o) { o.blocking = Blocking::kCallBarrier; }},
      {"-z", "--blocking", "2", [](O& o) { o.blocking = Blocking::kCall; }},
      {"-z", "--blocking", "3", [](O& o) { o.blocking = Blocking::kIterationBarrier; }},
      {"-y", "--stream_null", "0", [](O&) {}},
      {"-T", "--timeout", "60", [](O& o) { o.timeout_seconds = 60; }},
      {"-T", "--timeout", "0", [](O&) {}},
      {"-G", "--cudagraph", "0", [](O&) {}},
      {"-C", "--report_cputime", "0", [](O&) {}},
      {"-S", "--report_timestamps", "1", [](O& o) { o.timestamps = true; }},
      {"-J", "--output_file", "a.dir/x.JSON", [](O& o) { o.json_path = "a.dir/x.JSON"; }},
      {"-a", "--average", "0", [](O& o) { o.average = RankAverage::kRank0; }},
      {"-a", "--average", "3", [](O& o) { o.average = RankAverage::kGreatest; }},
      {"-R", "--local_register", "0", [](O&) {}},
      {"-D", "--device_implementation", "0", [](O&) {}},
      {"-M", "--memory", "0", [](O&) {}},
      {"-u", "--unalign", "3", [](O& o) { o.unalign = 3; }},
      {"-I", "--per_iter_timing", "1", [](O& o) { o.per_iteration = true; }},
      {"-K",
       "--per_iter_skip",
       "19",
       [](O& o) { o.per_iteration = true, o.per_iteration_skip = 19; },
       {"-I", "1", "-z", "0"}},
      {"", "--algorithm", "ring", [](O& o) { o.algorithm = "ring"; }},
      {"", "--implementation", "mpi", [](O& o) { o.implementation = "mpi"; }},
      {"", "--local", "4", [](O& o) { o.local = 4; }},
      {"", "--local-processes", "2", [](O& o) { o.local_processes = 2; }},
      {"", "--out", "runs/x", [](O& o) { o.out = "runs/x"; }},
      {"", "--expect-ranks", "2", [](O& o) { o.expect_ranks = 2; }},
      {"", "--seed", "7", [](O& o) { o.seed = 7; }},
  };
}

TEST(NcclTestsOptionsTest, DefaultsAreThoseOfVersion219) {
  const NcclTestsOptions options = Parse({});
  EXPECT_EQ(options, NcclTestsOptions());
  EXPECT_EQ(options.begin_bytes, 33554432U);
  EXPECT_EQ(options.end_bytes, 33554432U);
  EXPECT_EQ(options.increment_bytes, 1048576U);
  EXPECT_THAT(options.sizes, ElementsAre(33554432U));
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warmups, 1);
  EXPECT_EQ(RankThreads(options), 1);
}

TEST(NcclTestsOptionsTest, EveryFlagInItsSpellings) {
  for (const FlagCase& flag : FlagCases()) {
    NcclTestsOptions expected;
    flag.set(expected);
    std::vector<Words> spellings = {{flag.long_name, flag.value},
                                    {flag.long_name + "=" + flag.value}};
    if (!flag.short_name.empty()) {
      spellings.push_back({flag.short_name, flag.value});
      spellings.push_back({flag.short_name + flag.value});
    }
    for (Words words : spellings) {
      words.insert(words.end(), flag.beside.begin(), flag.beside.end());
      EXPECT_TRUE(Parse(words) == expected) << words[0];
    }
  }
}

TEST(NcclTestsOptionsTest, CommandLinesOfWrappers) {
  const NcclTestsOptions superbench = Parse({"-b", "8", "-e", "8G", "-f", "2", "-g", "8", "-c", "0",
                                             "-n", "20", "-w", "5", "-G", "0", "-d", "float"});
  EXPECT_THAT(superbench.sizes, SizeIs(31));
  EXPECT_EQ(superbench.sizes.back(), 8ULL << 30);
  EXPECT_EQ(RankThreads(superbench), 8);
  EXPECT_EQ(Parse({"-b", "16G", "-f", "2", "-g", "1", "-e", "16G", "-c", "1"}).sizes,
            std::vector<std::uint64_t>{16ULL << 30});
  EXPECT_EQ(Parse({"-n", "5", "-n", "7"}).iterations, 7) << "as with getopt, the last one counts";
  EXPECT_EQ(RankThreads(Parse({"-t", "2", "-g", "4"})), 8);
  EXPECT_EQ(RankThreads(Parse({"--local", "4"})), 4);
}

TEST(NcclTestsOptionsTest, AllIsInTheOrderOfNcclTests) {
  EXPECT_THAT(Parse({"-o", "all"}).ops, ElementsAre(ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax,
                                                    ReduceOp::kMin, ReduceOp::kAvg));
  const auto types = Parse({"-d", "all"}).types;
  ASSERT_THAT(types, SizeIs(kAllDataTypes.size()));
  std::string names;
  for (const DataType type : types) names += std::string(NcclTestsTypeName(type)) + " ";
  EXPECT_EQ(names,
            "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 ");
}

TEST(NcclTestsOptionsTest, GpuFlagsSayWhy) {
  const std::vector<Words> refused = {
      {"-p", "1", "--parallel_init (-p)"},    {"-y", "1", "--stream_null (-y)"},
      {"-G", "5", "--cudagraph (-G)"},        {"-C", "1", "--report_cputime (-C)"},
      {"-R", "2", "--local_register (-R)"},   {"-x", "0", "--cta_policy (-x)"},
      {"-D", "1", "--device_implementation"}, {"-V", "16", "--device_cta_count (-V)"},
      {"-M", "1", "--memory (-M)"},           {"-o", "mulsum", "--op (-o)"},
  };
  for (const Words& words : refused) {
    EXPECT_THAT(RefusedWords({words[0], words[1]}),
                AllOf(StartsWith(words[2]), HasSubstr("\"" + words[1] + "\": expected "),
                      HasSubstr("; GPU only: ")));
  }
  EXPECT_EQ(RefusedWords({"-G", "5"}),
            "--cudagraph (-G): \"5\": expected 0; GPU only: CUDA graphs");
}

TEST(NcclTestsOptionsTest, BadTextNamesOptionAndText) {
  const std::vector<Words> refused = {
      {"-t", "0", "--nthreads (-t)"},
      {"-g", "x", "--ngpus (-g)"},
      {"-f", "0", "--stepfactor (-f)"},
      {"-f", "1.5", "--stepfactor (-f)"},
      {"-n", "0", "--iters (-n)"},
      {"-n", "99999999999", "--iters (-n)"},
      {"-w", "-1", "--warmup_iters (-w)"},
      {"-m", "0", "--agg_iters (-m)"},
      {"-N", "-1", "--run_cycles (-N)"},
      {"-c", "yes", "--check (-c)"},
      {"-o", "plus", "--op (-o)"},
      {"-d", "float3", "--datatype (-d)"},
      {"-r", "-2", "--root (-r)"},
      {"-z", "4", "--blocking (-z)"},
      {"-T", "-5", "--timeout (-T)"},
      {"-S", "2", "--report_timestamps (-S)"},
      {"-J", "x.csv", "--output_file (-J)"},
      {"-J", "json", "--output_file (-J)"},
      {"-J", "a.json/x", "--output_file (-J)"},
      {"-a", "4", "--average (-a)"},
      {"-u", "0x4", "--unalign (-u)"},
      {"-I", "2", "--per_iter_timing (-I)"},
      {"--algorithm", "bruck", "--algorithm"},
      {"--implementation", "nccl", "--implementation"},
      {"--local", "0", "--local"},
      {"--local-processes", "2000", "--local-processes"},
      {"--expect-ranks", "0", "--expect-ranks"},
      {"--seed", "a", "--seed"},
  };
  for (const Words& words : refused) {
    EXPECT_THAT(RefusedWords({words[0], words[1]}),
                AllOf(StartsWith(words[2] + ": \"" + words[1]), HasSubstr("expected")));
    EXPECT_FALSE(HasBadSizes({words[0], words[1]})) << words[0];
  }
  EXPECT_THAT(RefusedWords({"--algorithm", "bruck"}), HasSubstr("all_reduce: ring"));
  for (const char* option : {"-J", "--out", "-i", "--local"}) {
    EXPECT_THAT(RefusedWords({option, ""}), HasSubstr("\"\": expected a value"));
  }
}

TEST(NcclTestsOptionsTest, ContradictionsAreRefused) {
  EXPECT_THAT(RefusedWords({"-f", "2", "-i", "1M"}), StartsWith("--stepfactor (-f): \"2\""));
  EXPECT_EQ(RefusedWords({"-f", "1", "-i", "1M"}), "not refused");
  EXPECT_THAT(RefusedWords({"-K", "3"}),
              AllOf(StartsWith("--per_iter_skip (-K): \"3\""), HasSubstr("(-I) 1")));
  EXPECT_THAT(RefusedWords({"-I", "1", "-K", "20"}), HasSubstr("less than --iters (-n), 20"));
  EXPECT_EQ(RefusedWords({"-I", "1", "-z", "1"}), "not refused");
  EXPECT_THAT(RefusedWords({"--local", "2", "-g", "2"}), StartsWith("--local: \"2\""));
  EXPECT_THAT(RefusedWords({"--local", "2", "--local-processes", "2"}), StartsWith("--local: "));
  EXPECT_THAT(RefusedWords({"-t", "64", "-g", "64"}), HasSubstr("at most 1024 ranks"));
  EXPECT_THAT(RefusedWords({"--algorithm", "ring", "--implementation", "mpi"}),
              StartsWith("--algorithm: \"ring\""));
}

TEST(NcclTestsOptionsTest, BadSizesAreTheirOwnError) {
  for (const Words& words : std::vector<Words>{{"-b", "12Q"},
                                               {"-e", "x"},
                                               {"-i", "0"},
                                               {"-i", "1.5M"},
                                               {"-b", "64M"},
                                               {"-b", "0", "-e", "1T", "-i", "1"}}) {
    EXPECT_TRUE(HasBadSizes(words)) << words[0] << " " << words[1];
  }
  EXPECT_THAT(RefusedWords({"-b", "64M"}), StartsWith("--maxbytes (-e): \"33554432\""));
}

TEST(NcclTestsOptionsTest, UnknownWordsAreNamed) {
  EXPECT_EQ(
      RefusedWords({"-b", "8", "--minbyte", "8"}),
      "\"--minbyte\": unknown option, did you mean \"--minbytes\"; all_reduce_perf --help lists "
      "what is accepted");
  EXPECT_THAT(RefusedWords({"-q", "1"}), StartsWith("\"-q\": unknown option"));
  EXPECT_THAT(RefusedWords({"-b", "8", "16"}), StartsWith("\"16\": unknown argument"));
  EXPECT_THAT(RefusedWords({"-b"}), HasSubstr("--minbytes"));
}

TEST(NcclTestsOptionsTest, HelpComesFirst) {
  EXPECT_TRUE(Parse({"-h"}).help);
  EXPECT_TRUE(Parse({"-b", "8", "--help"}).help);
  const std::string help = NcclTestsHelp("build/all_reduce_perf_mpi");
  for (const FlagCase& flag : FlagCases()) EXPECT_THAT(help, HasSubstr(flag.long_name));
  EXPECT_THAT(help, HasSubstr("all_reduce_perf_mpi -b 8"));
}

TEST(NcclTestsNamesTest, ProgramsByName) {
  EXPECT_EQ(CollectiveOfProgram("all_reduce_perf"), Collective::kAllReduce);
  EXPECT_EQ(CollectiveOfProgram("/a/all_gather_perf"), Collective::kAllGather);
  EXPECT_EQ(CollectiveOfProgram("./reduce_scatter_perf"), Collective::kReduceScatter);
  EXPECT_EQ(CollectiveOfProgram("alltoall_perf"), Collective::kAllToAll);
  EXPECT_EQ(CollectiveOfProgram("broadcast_perf"), Collective::kBroadcast);
  EXPECT_EQ(CollectiveOfProgram("reduce_perf"), Collective::kReduce);
  EXPECT_EQ(CollectiveOfProgram("sendrecv_perf"), Collective::kSendRecv);
  EXPECT_EQ(CollectiveOfProgram("gather_perf"), Collective::kGather);
  EXPECT_EQ(CollectiveOfProgram("scatter_perf"), Collective::kScatter);
  EXPECT_EQ(CollectiveOfProgram("x/all_reduce_perf_mpi"), Collective::kAllReduce);
  for (const char* name : {"hockney", "alltoallv_perf", "hypercube_perf", "all_reduce_perf2", "",
                           "all_reduce_perf/", "all_reduce_perf/hockney", "my_reduce_perf"}) {
    EXPECT_EQ(CollectiveOfProgram(name), std::nullopt) << name;
  }
}

TEST(NcclTestsNamesTest, RedopAndInPlaceCheck) {
  EXPECT_EQ(NcclTestsRedopName(Collective::kReduce, ReduceOp::kMax), "max");
  EXPECT_EQ(NcclTestsRedopName(Collective::kBroadcast, ReduceOp::kSum), "none");
  EXPECT_EQ(NcclTestsRedopName(Collective::kSendRecv, ReduceOp::kSum), "sum");
  EXPECT_TRUE(HasInPlaceForm(Collective::kAllGather));
  EXPECT_FALSE(HasInPlaceForm(Collective::kAllToAll));
  EXPECT_FALSE(HasInPlaceForm(Collective::kSendRecv));
}

TEST(NcclTestsExitCodeTest, CodesOfNcclTests) {
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kOk, false), 0);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kInternal, false), 1);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kTimeout, false), 4);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kEnvironment, false), 5);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kUsage, false), 6);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kUsage, true), 255);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kWrongData, false), 7);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kRegression, false), 7);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kInterrupted, false), 1);
  EXPECT_EQ(NcclTestsExitCode(ExitCode::kInterrupted, false, SIGINT), 130);
}

TEST(NcclTestsEnvironmentTest, MinimumIsANumber) {
  const auto minimum = [](const std::string& text) {
    return ReadNcclTestsEnvironment(Words{"PATH=/bin", "NCCL_TESTS_MIN_BW=" + text})
        .minimum_busbw_GBps;
  };
  EXPECT_EQ(ReadNcclTestsEnvironment(Words{"NCCL_DEBUG=INFO", "odd"}).minimum_busbw_GBps,
            std::nullopt);
  EXPECT_EQ(minimum("12.5"), 12.5);
  EXPECT_EQ(minimum("0"), 0);
  for (const char* text : {"", "fast", "12GB", "-1", "-0", "nan", "inf", " 1"}) {
    EXPECT_THAT(Refused([&] { minimum(text); }),
                StartsWith("NCCL_TESTS_MIN_BW: \"" + std::string(text) + "\": expected a bus"));
  }
}

TEST(NcclTestsEnvironmentTest, UnsupportedVariablesAreNamed) {
  for (const char* name : {"NCCL_TESTS_DEVICE", "NCCL_TESTS_ALLTOALLV_SPREAD"}) {
    const std::string variable = name;
    EXPECT_THAT(Refused([&] { ReadNcclTestsEnvironment(Words{variable + "=0x7"}); }),
                AllOf(StartsWith(variable + ": \"0x7\""), HasSubstr("not supported")));
  }
}

TEST(NcclTestsEnvironmentTest, GroupsComeFromTheSplitElseFromTheMask) {
  const auto split = [](const Words& entries) { return ReadNcclTestsEnvironment(entries).split; };
  EXPECT_EQ(split(Words{"PATH=/bin"}), "");
  EXPECT_EQ(split(Words{"NCCL_TESTS_SPLIT=MOD 8"}), "MOD:8");
  EXPECT_EQ(split(Words{"NCCL_TESTS_SPLIT_MASK=7"}), "AND:0x7");
  EXPECT_EQ(split(Words{"NCCL_TESTS_SPLIT_MASK=0x1f"}), "AND:0x1f");
  EXPECT_EQ(split(Words{"NCCL_TESTS_SPLIT_MASK=0x0"}), "");  // scripts that want no split
  EXPECT_EQ(split(Words{"NCCL_TESTS_SPLIT_MASK=7", "NCCL_TESTS_SPLIT=DIV 2"}), "DIV:2");
  EXPECT_THAT(Refused([&] { split(Words{"NCCL_TESTS_SPLIT=MOD x"}); }),
              StartsWith("NCCL_TESTS_SPLIT: \"MOD x\": expected AND, OR, MOD, DIV"));
  EXPECT_THAT(Refused([&] { split(Words{"NCCL_TESTS_SPLIT_MASK=zz"}); }),
              StartsWith("NCCL_TESTS_SPLIT_MASK: \"zz\": expected a hexadecimal number"));
}

}  // namespace
}  // namespace hockney
