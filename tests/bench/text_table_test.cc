#include "bench/text_table.h"

#include <gtest/gtest.h>

namespace hockney {
namespace {

TEST(FormatTableTest, NumbersAreSetToTheRight) {
  EXPECT_EQ(FormatTable({{"name", "n"}, {"a", "10"}, {"bcdef", "-"}}),
            "name    n\n"
            "a      10\n"
            "bcdef   -\n");
  EXPECT_EQ(FormatTable({}), "");
}

TEST(FormatMarkdownTableTest, ColumnsArePaddedAndBarsEscaped) {
  EXPECT_EQ(FormatMarkdownTable({{"name", "n"}, {"a|b", "10"}}),
            "| name |  n |\n"
            "|------|---:|\n"
            "| a\\|b | 10 |\n");
  EXPECT_EQ(FormatMarkdownTable({}), "");
}

}  // namespace
}  // namespace hockney
