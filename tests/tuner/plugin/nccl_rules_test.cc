#include "tuner/plugin/nccl_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/scratch_folder.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr int kAllReduce = 4;
constexpr int kRing = 1;
constexpr int kNvls = 4;
constexpr int kLl = 0;
constexpr int kSimple = 2;

std::string Failure(const std::string& text) {
  try {
    ParseNcclRules(text, "r.csv");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(NcclRulesTest, FieldsAreThoseOfNcclsExample) {
  const auto rules = ParseNcclRules(
      "# a comment, which may hold anything\t\n"
      "\n"
      "allreduce,0,1048576,ring,ll,-1,1,8\n"
      "allreduce,1048577,18446744073709551615,nvls,simple,16,1,8,-1\n"
      "reducescatter,5000000000,5000000001,pat,simple,-1,-1,-1,4,-1",
      "r.csv");
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_EQ(rules[0], (NcclRule{.function = kAllReduce,
                                .min_bytes = 0,
                                .max_bytes = 1048576,
                                .algorithm = kRing,
                                .protocol = kLl,
                                .channels = -1,
                                .nodes = 1,
                                .ranks = 8,
                                .pipe_ops = -1,
                                .line = 3}));
  EXPECT_EQ(rules[1].max_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(rules[1].channels, 16);
  EXPECT_EQ(rules[1].algorithm, kNvls);
  EXPECT_EQ(rules[1].protocol, kSimple);
  EXPECT_EQ(rules[2].min_bytes, 5'000'000'000U);
  EXPECT_EQ(rules[2].function, 3);
  EXPECT_EQ(rules[2].algorithm, 6);
  EXPECT_EQ(rules[2].pipe_ops, 4);
  EXPECT_EQ(rules[2].line, 5U);
}

TEST(NcclRulesTest, AFileWithoutRulesIsOne) {
  EXPECT_TRUE(ParseNcclRules("", "r.csv").empty());
  EXPECT_TRUE(ParseNcclRules("# nothing yet\n\n", "r.csv").empty());
}

TEST(PublicCaseTest, B34WhatIsNoRuleIsNamedByLineAndColumn) {
  struct Case {
    std::string text;
    std::string expected;
  };
  const std::string good = "allreduce,0,8,ring,ll,-1,1,8\n";
  for (const Case& each : {
           Case{"allreduce,,1048576,ring", "r.csv:1:11: \"\": expected a value"},
           Case{"allreduce,0,1048576,ring",
                "r.csv:1:25: \"\": expected 8 to 10 fields, but this "
                "line has 4"},
           Case{"allreduce,1-a,8,ring,ll,-1,1,8", "r.csv:1:11: \"1-a\": expected a whole number"},
           Case{"allreduce,5-2,8,ring,ll,-1,1,8", "r.csv:1:11: \"5-2\": expected a whole number"},
           Case{"allreduce,-1,8,ring,ll,-1,1,8", "r.csv:1:11: \"-1\": expected a whole number"},
           Case{"allreduce,+1,8,ring,ll,-1,1,8", "r.csv:1:11: \"+1\": expected a whole number"},
           Case{"allreduce,0,18446744073709551616,ring,ll,-1,1,8",
                "r.csv:1:13: \"18446744073709551616\": expected a whole number of bytes, at most "
                "18446744073709551615"},
           Case{"allreduce,9,8,ring,ll,-1,1,8", "r.csv:1:13: \"8\": expected no less than"},
           Case{"allreduce,0,8,ring,ll,-1,1,8,", "r.csv:1:30: \"\": expected a value"},
           Case{"allreduce,0,8,ring,ll,-1,1,8,1,-1,7", "r.csv:1:35: \"7\": expected 8 to 10 fiel"},
           Case{"allreduce,0,8,ring,ll,-1,1,8 # why", "r.csv:1:29: \" # why\": expected no spaces"},
           Case{good + "allreduce,9,10,ring,ll,-1,1,8\r\n",
                "r.csv:2:30: \"\\x0d\": expected lines "
                "that end with a line feed alone"},
           Case{"allreduce,0,8,ring\t,ll,-1,1,8", "r.csv:1:19: \"\\x09,ll,-1,1,8\": expected no"},
           Case{std::string("allreduce,0,8,ring,ll,-1,1,8\0", 29), "r.csv:1:29: \"\\x00\""},
           Case{" # not at the beginning", "r.csv:1:1: "},
           Case{"collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks",
                "r.csv:1:1: \"collective_type\": expected broadcast, reduce, allgather, "
                "reducescatter or allreduce (and no line of names)"},
           Case{"all_reduce,0,8,ring,ll,-1,1,8", "r.csv:1:1: \"all_reduce\": expected broadcast"},
           Case{"AllReduce,0,8,ring,ll,-1,1,8", "r.csv:1:1: \"AllReduce\": expected broadcast"},
           Case{"allreduce,0,8,rings,ll,-1,1,8", "r.csv:1:15: \"rings\": expected tree, ring, "},
           Case{"allreduce,0,8,ring,ll256,-1,1,8",
                "r.csv:1:20: \"ll256\": expected ll, ll128 or "
                "simple"},
           Case{"allreduce,0,8,ring,ll,0,1,8",
                "r.csv:1:23: \"0\": expected -1 or a whole number "
                "of 1 to 64"},
           Case{"allreduce,0,8,ring,ll,65,1,8", "r.csv:1:23: \"65\": expected -1 or"},
           Case{"allreduce,0,8,ring,ll,-1,0,8", "r.csv:1:26: \"0\": expected -1 or"},
           Case{"allreduce,0,8,ring,ll,-1,1,-2", "r.csv:1:28: \"-2\": expected -1 or"},
           Case{"allreduce,0,8,ring,ll,-1,1,4294967296", "r.csv:1:28: \"4294967296\": expected"},
           Case{"allreduce,0,8,ring,ll,-1,1,8,-1,1", "r.csv:1:33: \"1\": expected -1: ranks dif"},
           Case{"1024 0 2 1024\n100000 1 2 1024\n", "r.csv:1:5: \" 0 2 1024\": expected no spac"},
           Case{"#" + std::string(254, 'x'), "r.csv:1:255: "},
       }) {
    EXPECT_THAT(Failure(each.text), ::testing::StartsWith(each.expected)) << each.text;
  }
  EXPECT_EQ(Failure("#" + std::string(253, 'x')), "no failure");
  EXPECT_EQ(Failure(good), "no failure");
}

TEST(NcclRulesTest, OverlapsAreRefusedWhereACallCouldBeOfBoth) {
  const std::string first = "allreduce,0,8,ring,ll,-1,1,8\n";
  EXPECT_EQ(Failure(first + "allreduce,8,9,ring,ll,-1,1,8"),
            "r.csv:2:1: \"allreduce,8,9,ring,ll,-1,1,8\": expected no sizes that line 1 decides "
            "already");
  EXPECT_THAT(Failure(first + "allreduce,8,9,tree,ll,-1,-1,8"), HasSubstr("line 1 decides"));
  EXPECT_THAT(Failure(first + "allreduce,0,9,tree,ll,-1,1,-1,3"), HasSubstr("line 1 decides"));
  for (const char* apart : {"allreduce,9,10,ring,ll,-1,1,8", "reduce,0,8,ring,ll,-1,1,8",
                            "allreduce,0,8,ring,ll,-1,2,8", "allreduce,0,8,ring,ll,-1,1,16"}) {
    EXPECT_EQ(Failure(first + apart), "no failure") << apart;
  }
  EXPECT_EQ(Failure("allreduce,0,8,ring,ll,-1,1,8,1\nallreduce,0,8,ring,ll,-1,1,8,2"),
            "no failure");
}

TEST(NcclRulesTest, MoreRulesThanCountAreRefused) {
  std::string text;
  for (std::size_t i = 0; i < kMostNcclRules; ++i) {
    text += "allreduce," + std::to_string(i) + "," + std::to_string(i) + ",ring,ll,-1,1,8\n";
  }
  EXPECT_EQ(Failure(text), "no failure");
  EXPECT_THAT(Failure(text + "reduce,0,8,ring,ll,-1,1,8"), HasSubstr("r.csv:4097:1: "));
}

TEST(NcclRulesTest, WhatIsFormattedReadsBack) {
  const std::string text =
      "allgather,0,18446744073709551615,nvls_tree,ll128,64,-1,4096\n"
      "broadcast,7,7,collnet_direct,simple,-1,2,16,12\n";
  const auto rules = ParseNcclRules(text, "r.csv");
  EXPECT_EQ(FormatNcclRule(rules.at(0)) + "\n" + FormatNcclRule(rules.at(1)) + "\n", text);
}

TEST(NcclRulesTest, ARuleIsFoundByFunctionBytesAndOperations) {
  const auto rules = ParseNcclRules(
      "allreduce,10,20,ring,ll,-1,1,8,1\n"
      "allreduce,10,20,tree,ll,-1,1,8,2\n"
      "allreduce,21,30,nvls,simple,-1,1,8\n",
      "r.csv");
  const auto line = [&](int function, std::uint64_t bytes, int operations) {
    const NcclRule* const found = FindNcclRule(rules, function, bytes, operations);
    return found == nullptr ? 0 : found->line;
  };
  EXPECT_EQ(line(kAllReduce, 9, 1), 0U);
  EXPECT_EQ(line(kAllReduce, 10, 1), 1U);
  EXPECT_EQ(line(kAllReduce, 20, 1), 1U);
  EXPECT_EQ(line(kAllReduce, 20, 2), 2U);
  EXPECT_EQ(line(kAllReduce, 20, 3), 0U);
  EXPECT_EQ(line(kAllReduce, 21, 3), 3U);
  EXPECT_EQ(line(0, 21, 3), 0U);
}

TEST(NcclRulesTest, RulesOfOtherShapesDoNotCount) {
  const auto rules = ParseNcclRules(
      "allreduce,0,1,ring,ll,-1,1,8\nallreduce,0,1,ring,ll,-1,2,16\nreduce,0,1,ring,ll,-1,-1,8\n"
      "broadcast,0,1,ring,ll,-1,2,-1\n",
      "r.csv");
  const auto lines = [&](std::size_t ranks, std::size_t nodes) {
    std::vector<std::size_t> found;
    for (const NcclRule& rule : NcclRulesFor(rules, ranks, nodes)) found.push_back(rule.line);
    return found;
  };
  EXPECT_THAT(lines(8, 1), ::testing::ElementsAre(1, 3));
  EXPECT_THAT(lines(16, 2), ::testing::ElementsAre(2, 4));
  EXPECT_THAT(lines(8, 2), ::testing::ElementsAre(3, 4));
  EXPECT_TRUE(lines(4, 1).empty());
}

TEST(NcclRulesTest, FilesThatCannotBeReadAreNamed) {
  const ScratchFolder folder;
  const auto failure = [](const std::string& path) -> std::string {
    try {
      ReadNcclRuleFile(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no failure";
  };
  EXPECT_EQ(failure(folder.Path("none")),
            folder.Path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(failure(folder.Path("")), folder.Path("") + ": cannot be read: Is a directory");
  std::ofstream(folder.Path("long")) << std::string((1 << 20) + 1, '\n');
  EXPECT_EQ(failure(folder.Path("long")), folder.Path("long") + ": longer than 1 MiB");
  std::ofstream(folder.Path("most")) << std::string(1 << 20, '\n');
  EXPECT_EQ(ReadNcclRuleFile(folder.Path("most")).size(), std::size_t{1} << 20);
}

// Published test vectors of 64-bit FNV-1a.
TEST(NcclRulesTest, TheHashIsFnv1a) {
  EXPECT_EQ(HashOfNcclRules(""), "cbf29ce484222325");
  EXPECT_EQ(HashOfNcclRules("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(HashOfNcclRules("foobar"), "85944171f73967e8");
}

}  // namespace
}  // namespace hockney
