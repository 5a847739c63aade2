#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/exports/mpi_tuning.h"
#include "topology/check.h"
#include "tuner/exports/exports.h"
#include "tuner/exports/ompi_rules.h"

namespace hockney {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MpiRuleFrom;
using testing::MpiTable;

// What stands before numbers and comments of the line is left out.
std::string Numbers(const std::string& text) {
  std::string numbers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    line = line.substr(0, line.find('#'));
    while (line.ends_with(' ')) line.pop_back();
    if (!line.empty()) numbers += line + "\n";
    at = end + 1;
  }
  return numbers;
}

Tuning AllReduceOf4() {
  return {.tables = {MpiTable(
              Collective::kAllReduce, 4,
              {MpiRuleFrom(0, "default"), MpiRuleFrom(4096, "ring"),
               MpiRuleFrom(1 << 20, "segmented_ring", "library=Open MPI 4.1.4;segsize=65536")})}};
}

TEST(ExportOmpiTest, RulesAreBetweenGuardsSoThatOtherCommunicatorsKeepTheDefault) {
  const Exported exported = ExportOmpi(AllReduceOf4());
  ASSERT_EQ(exported.files.size(), 1U);
  EXPECT_EQ(Numbers(exported.files[0].text),
            "1\n"
            "2\n"
            "3\n"
            "0 1\n0 0 0 0\n"
            "4 3\n0 0 0 0\n4096 4 0 0\n1048576 5 0 65536\n"
            "5 1\n0 0 0 0\n");
  EXPECT_THAT(exported.notes, Contains(HasSubstr("coll_tuned_use_dynamic_rules 1")));
}

TEST(ExportOmpiTest, ABoundaryBelongsToTheRuleThatBeginsThere) {
  const Exported exported = ExportOmpi(AllReduceOf4());
  const OmpiRules rules = ReadOmpiRules("x", exported.files[0].text);
  EXPECT_EQ(FindOmpiRule(rules, 2, 4, 4095)->algorithm, 0);
  EXPECT_EQ(FindOmpiRule(rules, 2, 4, 4096)->algorithm, 4);
  EXPECT_EQ(FindOmpiRule(rules, 2, 4, (1 << 20) - 1)->algorithm, 4);
  EXPECT_EQ(FindOmpiRule(rules, 2, 4, 1 << 20)->algorithm, 5);
  for (const int ranks : {1, 2, 3, 5, 64}) {
    EXPECT_EQ(FindOmpiRule(rules, 2, ranks, 1 << 20)->algorithm, 0) << ranks;
  }
  EXPECT_EQ(FindOmpiRule(rules, 7, 4, 4096), nullptr) << "broadcast was not measured";
}

TEST(ExportOmpiTest, EveryCollectiveHasItsNumbers) {
  const std::vector<std::tuple<Collective, std::string, int, int>> known = {
      {Collective::kAllGather, "neighbor", 0, 5},
      {Collective::kAllReduce, "rabenseifner", 2, 6},
      {Collective::kAllToAll, "modified_bruck", 3, 3},
      {Collective::kAllToAllV, "pairwise", 4, 2},
      {Collective::kBarrier, "tree", 6, 6},
      {Collective::kBroadcast, "scatter_allgather_ring", 7, 9},
      {Collective::kGather, "linear_sync", 9, 3},
      {Collective::kReduce, "in-order_binary", 11, 6},
      {Collective::kReduceScatter, "butterfly", 13, 4},
      {Collective::kScatter, "linear_nb", 15, 3}};
  Tuning tuning;
  for (const auto& [collective, name, id, algorithm] : known) {
    tuning.tables.push_back(MpiTable(collective, 2, {MpiRuleFrom(0, name)}));
  }
  const Exported exported = ExportOmpi(tuning);
  ASSERT_EQ(exported.files.size(), 1U);
  const OmpiRules rules = ReadOmpiRules("x", exported.files[0].text);
  EXPECT_EQ(rules.size(), known.size());
  for (const auto& [collective, name, id, algorithm] : known) {
    const OmpiMessageRule* rule = FindOmpiRule(rules, id, 2, 0);
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_EQ(rule->algorithm, algorithm) << name;
  }
}

TEST(ExportOmpiTest, TheFanOutOfAChainIsPartOfTheRule) {
  const Tuning tuning{
      .tables = {MpiTable(Collective::kBroadcast, 8,
                          {MpiRuleFrom(0, "chain", "faninout=4;library=Open MPI 4.1.4")})}};
  EXPECT_THAT(Numbers(ExportOmpi(tuning).files[0].text), HasSubstr("8 1\n0 2 4 0\n9 1\n"));
}

TEST(ExportOmpiTest, NeighbouringCommunicatorSizesNeedNoGuardBetweenThem) {
  Tuning tuning = AllReduceOf4();
  tuning.tables.push_back(MpiTable(Collective::kAllReduce, 5, {MpiRuleFrom(0, "ring")}));
  EXPECT_THAT(Numbers(ExportOmpi(tuning).files[0].text),
              HasSubstr("1048576 5 0 65536\n5 1\n0 4 0 0\n6 1\n0 0 0 0\n"));
}

TEST(ExportOmpiTest, OnlyRulesThatWereMeasuredWithOpenMpiCount) {
  Tuning tuning = AllReduceOf4();
  auto& rules = tuning.tables[0].rules;
  rules[1].implementation = "hockney";
  rules[2].measured = false;
  Exported exported = ExportOmpi(tuning);
  ASSERT_EQ(exported.files.size(), 1U);
  EXPECT_THAT(Numbers(exported.files[0].text), HasSubstr("4 1\n0 0 0 0\n5 1\n"));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("left to the library")));
  for (TuningRule& rule : rules) rule.parameters = "library=MPICH 4.0.2";
  exported = ExportOmpi(tuning);
  EXPECT_TRUE(exported.files.empty());
  EXPECT_THAT(exported.notes, Contains(HasSubstr("no rule was measured with it")));
}

TEST(ExportOmpiTest, SizesThatNoRuleCoversKeepTheDefault) {
  Tuning tuning{.tables = {MpiTable(Collective::kAllReduce, 2, {MpiRuleFrom(64, "ring")})}};
  tuning.tables[0].rules[0].max_bytes = 1023;
  EXPECT_THAT(Numbers(ExportOmpi(tuning).files[0].text),
              HasSubstr("2 3\n0 0 0 0\n64 4 0 0\n1024 0 0 0\n"));
}

TEST(ExportOmpiTest, ACollectiveWithoutSizesHasOneRuleOrNone) {
  Tuning tuning{.tables = {MpiTable(Collective::kAllToAllV, 2,
                                    {MpiRuleFrom(0, "pairwise"), MpiRuleFrom(64, "default")})}};
  const Exported exported = ExportOmpi(tuning);
  EXPECT_THAT(Numbers(exported.files[0].text), HasSubstr("2 1\n0 0 0 0\n3 1\n"));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("one algorithm for all sizes")));
}

TEST(ExportOmpiTest, OfTablesTheFileCannotTellApartOneIsTaken) {
  Tuning tuning = AllReduceOf4();
  TuningTable across = MpiTable(Collective::kAllReduce, 4, {MpiRuleFrom(0, "ring")});
  across.nodes = 2;
  tuning.tables.push_back(across);
  const Exported exported = ExportOmpi(tuning);
  EXPECT_THAT(Numbers(exported.files[0].text), HasSubstr("4 1\n0 4 0 0\n5 1\n"));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("left out: all_reduce of 4 ranks on 1 nodes")));
}

// --- the reader ------------------------------------------------------------------------------

// A file with one collective, one number of ranks and these message rules.
std::string FileOf(const std::string& rules, int count = 2) {
  return "1\n2 1\n4 " + std::to_string(count) + "\n" + rules;
}

std::string ErrorOf(const std::string& text) {
  try {
    ReadOmpiRules("rules.conf", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(OmpiRulesTest, TheOldAndTheNewFormGiveTheSameThresholds) {  // B34
  for (const std::string rules :
       {"1024 0 2 1024\n100000 1 2 1024\n", "1024 0 2 1024 0\n100000 1 2 1024 0\n"}) {
    const OmpiRules read = ReadOmpiRules("x", FileOf(rules));
    ASSERT_EQ(read.size(), 1U);
    ASSERT_EQ(read[0].ranks.size(), 1U);
    const auto& messages = read[0].ranks[0].rules;
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].min_bytes, 1024U);
    EXPECT_EQ(messages[0].algorithm, 0);
    EXPECT_EQ(messages[1].min_bytes, 100000U);
    EXPECT_EQ(messages[1].algorithm, 1);
    EXPECT_EQ(messages[1].segment_bytes, 1024U);
  }
}

TEST(OmpiRulesTest, CommentsAndBlankLinesAreNoNumbers) {
  const OmpiRules read = ReadOmpiRules(
      "x", "# 7 8 9\n1 # collectives\n\n2 # allreduce\n1\n\t4 1 # ranks\n0 3 0 0 # 5 6\n");
  EXPECT_EQ(FindOmpiRule(read, 2, 4, 0)->algorithm, 3);
}

TEST(OmpiRulesTest, WhateverShiftsNumbersIsRefusedWithItsPlace) {  // B34
  struct Case {
    std::string text;
    std::string place;
    std::string words;
  };
  const Case cases[] = {
      {FileOf("1024 0 2 1024\n100000 1 2 1024 0\n"), "rules.conf:5:17: ", "5 numbers"},
      {FileOf("1024 0 2 1024 0\n100000 1 2 1024\n"), "rules.conf:5:12: ", "4 numbers"},
      {FileOf("1024 0 2\n100000 1 2 1024\n"), "rules.conf:4:8: ", "3 numbers"},
      {FileOf("0 0 0 0\n", 2), "rules.conf:5:1: ", "the file ends"},
      {FileOf("0 0 0 0\n8 1 0 0\n", 1), "rules.conf:5:1: ", "expected the end of the file"},
      {FileOf("allreduce,,1048576,ring\n"), "rules.conf:4:1: ", "\"allreduce,,1048576,ring\""},
      {FileOf("1-a 0 0 0\n"), "rules.conf:4:1: ", "\"1-a\""},
      {FileOf("-2 0 0 0\n"), "rules.conf:4:1: ", "\"-2\""},
      {FileOf("18446744073709551616 0 0 0\n"), "rules.conf:4:1: ", "2^63-1"},
      {FileOf("0 010 0 0\n"), "rules.conf:4:3: ", "\"010\""},
      {FileOf("0x10 0 0 0\n"), "rules.conf:4:1: ", "\"0x10\""},
      {FileOf("0 0 0 0,\n"), "rules.conf:4:7: ", "\"0,\""},
      {FileOf("0 0 0 0\r\n"), "rules.conf:4:7: ", "\"0?\""},
      {"1\n22 1\n", "rules.conf:2:1: ", "0 to 21"},
      {"1\n2 1\n4 1 0 0 0 0\n", "rules.conf:3:5: ", "on a line of its own"},
      {"", "rules.conf:1:1: ", "the number of collectives"}};
  for (const Case& test : cases) {
    const std::string error = ErrorOf(test.text);
    EXPECT_TRUE(error.starts_with(test.place)) << error << " for " << test.text;
    EXPECT_THAT(error, HasSubstr(test.words)) << test.text;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(OmpiRulesTest, WhatOpenMpiWouldIgnoreWithoutAWordIsRefused) {
  const auto check = [](const std::string& text) -> std::string {
    try {
      CheckOmpiRules("r", ReadOmpiRules("r", text));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string guard = "1\n2 2\n0 1\n0 0 0 0\n";
  EXPECT_EQ(check(guard + "4 2\n0 3 0 0\n8 4 0 0\n"), "");
  EXPECT_THAT(check(guard + "4 2\n8 3 0 0\n9 4 0 0\n"), HasSubstr("r:6:1: \"8\": expected 0"));
  EXPECT_THAT(check(guard + "4 2\n0 3 0 0\n0 4 0 0\n"), HasSubstr("r:7:1: \"0\": expected a mess"));
  EXPECT_THAT(check(guard + "0 1\n0 3 0 0\n"), HasSubstr("r:5:1: \"0\": expected more ranks"));
  EXPECT_THAT(check("1\n2 1\n4 1\n0 3 0 0\n"), HasSubstr("r:2:1: no guard"));
  EXPECT_THAT(check("1\n2 1\n0 1\n0 0 0 0 0\n"), HasSubstr("five numbers"));
  EXPECT_THAT(check("2\n2 1\n0 1\n0 0 0 0\n2 1\n0 1\n0 0 0 0\n"), HasSubstr("once"));
}

}  // namespace
}  // namespace hockney
