#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tuner/exports/exports.h"
#include "tuner/plugin/nccl_rules.h"
#include "tuner/plugin/tuner_abi.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();

TuningRule NcclRuleOf(std::uint64_t min, std::uint64_t max, const std::string& algorithm,
                      const std::string& protocol) {
  return {.min_bytes = min,
          .max_bytes = max,
          .implementation = "nccl",
          .algorithm = algorithm,
          .protocol = protocol};
}

TuningTable AllReduce(std::vector<TuningRule> rules) {
  return {.collective = Collective::kAllReduce,
          .ranks = 8,
          .nodes = 1,
          .dtype = "float32",
          .op = "sum",
          .rules = std::move(rules)};
}

TEST(NcclExportTest, RulesAreThoseThePluginReads) {
  TuningTable gather = AllReduce({NcclRuleOf(0, kMost, "pat", "simple")});
  gather.collective = Collective::kAllGather;
  gather.ranks = 4;
  gather.nodes = 4;
  TuningRule many = NcclRuleOf(65537, kMost, "NVLSTree", "Simple");
  many.lanes = 16;
  const Exported exported =
      ExportNccl({.tables = {AllReduce({NcclRuleOf(0, 65536, "Ring", "LL"), many}), gather}});
  ASSERT_EQ(exported.files.size(), 1U);
  EXPECT_EQ(exported.files[0].name, "nccl_tuner.csv");
  EXPECT_EQ(exported.files[0].text,
            "# NCCL_TUNER_CONFIG_FILE of hockney's plugin and of NCCL's example\n"
            "allreduce,0,65536,ring,ll,-1,1,8\n"
            "allreduce,65537,18446744073709551615,nvls_tree,simple,16,1,8\n"
            "allgather,0,18446744073709551615,pat,simple,-1,4,4\n");
  EXPECT_EQ(ParseNcclRules(exported.files[0].text, "x").size(), 3U);
  EXPECT_THAT(exported.notes,
              Contains(AllOf(HasSubstr("NCCL_TUNER_PLUGIN="), HasSubstr("info --check-tuner"))));
}

TEST(NcclExportTest, RangesThatSayTheSameAreOne) {
  const Exported exported = ExportNccl({.tables = {AllReduce({
                                            NcclRuleOf(0, 8, "ring", "ll"),
                                            NcclRuleOf(9, 16, "ring", "ll"),
                                            NcclRuleOf(18, 32, "ring", "ll"),
                                            NcclRuleOf(33, 64, "tree", "ll"),
                                        })}});
  EXPECT_THAT(exported.files.at(0).text,
              HasSubstr("\nallreduce,0,16,ring,ll,-1,1,8\nallreduce,18,32,ring,ll,-1,1,8\n"
                        "allreduce,33,64,tree,ll,-1,1,8\n"));
}

TEST(NcclExportTest, OnlyWhatWasMeasuredWithNcclUnderItsNamesCounts) {
  TuningRule own = NcclRuleOf(0, 8, "ring", "simple");
  own.implementation = "hockney";
  TuningRule predicted = NcclRuleOf(9, 16, "ring", "simple");
  predicted.measured = false;
  TuningRule odd = NcclRuleOf(17, 18, "ring", "simple");
  odd.lanes = 65;
  const Exported exported = ExportNccl({.tables = {AllReduce({
                                            own,
                                            predicted,
                                            odd,
                                            NcclRuleOf(19, 20, "", ""),
                                            NcclRuleOf(21, 22, "default", ""),
                                            NcclRuleOf(23, 24, "ring", ""),
                                            NcclRuleOf(25, 26, "tree", "ll"),
                                        })}});
  EXPECT_EQ(exported.files.at(0).text,
            "# NCCL_TUNER_CONFIG_FILE of hockney's plugin and of NCCL's example\n"
            "allreduce,25,26,tree,ll,-1,1,8\n");
  const std::string shape = "all_reduce of 8 ranks on 1 nodes: ";
  EXPECT_THAT(exported.notes, Contains(shape + "3 rule(s) left out, where NCCL had the choice: "
                                               "measure with NCCL's algorithm and protocol fixed "
                                               "to name them"));
  EXPECT_THAT(exported.notes,
              Contains(shape + "1 rule(s) left out, which were predicted, not measured"));
  EXPECT_THAT(exported.notes,
              Contains(shape + "1 rule(s) left out, whose channels are not 1 to 64"));
}

TEST(NcclExportTest, WithoutRulesOfNcclThereIsNoFileAndANote) {
  TuningRule mpi = NcclRuleOf(0, kMost, "ring", "");
  mpi.implementation = "mpi";
  for (const Tuning& tuning :
       {Tuning{}, Tuning{.tables = {AllReduce({mpi})}},
        Tuning{.tables = {AllReduce({NcclRuleOf(0, kMost, "default", "")})}}}) {
    const Exported exported = ExportNccl(tuning);
    EXPECT_TRUE(exported.files.empty());
    ASSERT_FALSE(exported.notes.empty());
    EXPECT_EQ(exported.notes[0],
              "no file for NCCL: no rule names an algorithm and a protocol that were measured "
              "with NCCL");
  }
}

TEST(NcclExportTest, ASecondTypeOfAShapeIsLeftOut) {
  TuningTable other = AllReduce({NcclRuleOf(0, kMost, "tree", "ll")});
  other.dtype = "bfloat16";
  TuningTable exchange = AllReduce({NcclRuleOf(0, kMost, "ring", "ll")});
  exchange.collective = Collective::kAllToAll;
  const Exported exported =
      ExportNccl({.tables = {AllReduce({NcclRuleOf(0, kMost, "ring", "ll")}), other, exchange}});
  EXPECT_THAT(exported.files.at(0).text, ::testing::EndsWith("\nallreduce,0,18446744073709551615,"
                                                             "ring,ll,-1,1,8\n"));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("1 nodes, bfloat16 sum: left out")));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("all_to_all of 8 ranks on 1 nodes: left out")));
}

}  // namespace
}  // namespace hockney
