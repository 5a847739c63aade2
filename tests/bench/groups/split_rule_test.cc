#include "bench/groups/split_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bench/options.h"
#include "tests/scratch_folder.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;

TEST(SplitRuleTest, RulesCutByTheRanksNumber) {
  EXPECT_THAT(SplitRanks("DIV:2", 5),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_THAT(SplitRanks("MOD:3", 5),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2)));
  EXPECT_THAT(SplitRanks("AND:0x1", 4), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(SplitRanks("OR:0b1", 4), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(SplitRanks("DIV:100", 3), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(SplitRuleTest, BadRulesNameWhatWouldDo) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      CheckSplit("--split", text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refused("DIV:0"), "--split: \"DIV:0\": expected DIV:n with a whole number n from 1");
  for (const char* text : {"MOD:0", "MOD:", "DIV:-1", "DIV:1.5", "AND:x", "DIV:0x", ""}) {
    EXPECT_THAT(refused(text), HasSubstr("expected")) << text;
  }
  EXPECT_EQ(refused("AND:0"), "accepted");
}

TEST(SplitRuleTest, VariablesOfNcclTestsAreRules) {
  const auto split = [](const char* text) { return SplitOfNcclTests("NCCL_TESTS_SPLIT", text); };
  EXPECT_EQ(split("MOD 8"), "MOD:8");
  EXPECT_EQ(split("DIV8"), "DIV:8");
  EXPECT_EQ(split("MOD:8"), "MOD:8");  // as --split has it
  EXPECT_EQ(split("%2"), "MOD:2");
  EXPECT_EQ(split("/ 4"), "DIV:4");
  EXPECT_EQ(split("& 0x7"), "AND:0x7");
  EXPECT_EQ(split("|0b1"), "OR:0b1");
  for (const char* text : {"", "8", "MOD", "MOD x", "DIV 0", "XOR 1"}) {
    EXPECT_THROW(split(text), UsageError) << text;
  }
}

class GroupFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    std::ofstream(folder_.Path("groups")) << text;
    return folder_.Path("groups");
  }
  // What is wrong, behind the file's name.
  std::string Refused(const std::string& text, int ranks) const {
    const std::string path = Write(text);
    try {
      SplitRanks(path, ranks);
    } catch (const InputError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return "accepted";
  }

 private:
  ScratchFolder folder_;
};

TEST_F(GroupFileTest, ALineIsAGroup) {
  EXPECT_THAT(SplitRanks(Write("# pairs\n4 1\n\n0,2-3  # three\r\n"), 5),
              ElementsAre(ElementsAre(0, 2, 3), ElementsAre(1, 4)));
  EXPECT_THAT(SplitRanks(Write("0-3"), 4), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST_F(GroupFileTest, FaultsAreNamedByPlace) {
  EXPECT_EQ(Refused("0 1\n2 x\n", 4), ":2:3: \"x\": expected ranks and ranges, as in 0-3 8");
  EXPECT_EQ(Refused("0 1\n2 4\n", 4), ":2:3: \"4\": expected a rank of 0..3");
  EXPECT_EQ(Refused("0 1\n1-3\n", 4), ":2:1: \"1-3\": rank 1 stands in two places, expected one");
  EXPECT_EQ(Refused("3-0\n", 4), ":1:1: \"3-0\": expected an ascending range");
  EXPECT_EQ(Refused("0 1\n", 3), ":2:1: rank 2 is in no group, expected every rank of 0..2");
  EXPECT_EQ(Refused("0-1-2\n", 3), ":1:4: \"-\": expected a space, comma or line end");
  EXPECT_EQ(Refused("-1\n", 3), ":1:1: \"-1\": expected ranks and ranges, as in 0-3 8");
  EXPECT_EQ(Refused("99999999999\n", 3),
            ":1:1: \"99999999999\": expected ranks and ranges, as in 0-3 8");
}

TEST_F(GroupFileTest, ARuleThatIsMisspeltIsExplained) {
  EXPECT_THAT([] { SplitRanks("DIV8", 4); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("--split expects DIV:n, MOD:n")));
}

}  // namespace
}  // namespace hockney
