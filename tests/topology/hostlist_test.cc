#include "topology/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HostlistTest, NamesAndCommasStandForThemselves) {
  EXPECT_THAT(ExpandHostlist("a"), ElementsAre("a"));
  EXPECT_THAT(ExpandHostlist("b,a,b2.example.org"), ElementsAre("b", "a", "b2.example.org"));
}

TEST(HostlistTest, RangesKeepTheZerosOfTheirFirstNumber) {
  EXPECT_THAT(ExpandHostlist("host[1-3,7]"), ElementsAre("host1", "host2", "host3", "host7"));
  EXPECT_THAT(ExpandHostlist("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(ExpandHostlist("n[8-10]"), ElementsAre("n8", "n9", "n10"));
  EXPECT_THAT(ExpandHostlist("n[098-101]-ib"),
              ElementsAre("n098-ib", "n099-ib", "n100-ib", "n101-ib"));
  EXPECT_THAT(ExpandHostlist("n[0]"), ElementsAre("n0"));
}

TEST(HostlistTest, SeveralBracketsAreAllCombinations) {
  EXPECT_THAT(ExpandHostlist("r[0-1]h[0-1],x[2-3]"),
              ElementsAre("r0h0", "r0h1", "r1h0", "r1h1", "x2", "x3"));
}

TEST(HostlistTest, FaultsAreNamedWithTheirPlace) {
  struct Case {
    const char* text;
    std::size_t offset;
    const char* expected;
  };
  for (const Case& each :
       {Case{"", 0, "a name"}, Case{"a,", 2, "a name"}, Case{"a,,b", 2, "a name"},
        Case{"n[1-4", 5, "or ]"}, Case{"n1]", 2, "no ]"}, Case{"n[4-1]", 5, "backwards"},
        Case{"n[]", 2, "a number"}, Case{"n[a-b]", 2, "a number"}, Case{"n[1-]", 4, "a number"},
        Case{"n[1,]", 4, "a number"}, Case{"n[0-99999999]", 12, "at most 1048576"},
        Case{"n[0-1999][0-1999]", 17, "at most 1048576"}}) {
    try {
      ExpandHostlist(each.text);
      ADD_FAILURE() << each.text;
    } catch (const HostlistError& error) {
      EXPECT_EQ(error.offset(), each.offset) << each.text;
      EXPECT_THAT(error.what(), HasSubstr(each.expected)) << each.text;
    }
  }
}

}  // namespace
}  // namespace hockney
