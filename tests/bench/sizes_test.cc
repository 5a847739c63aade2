#include "bench/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "bench/options.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kMin[] = "--minbytes (-b)";
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

template <class Body>
requires std::invocable<Body> std::string Refused(Body body) {
  try {
    body();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "not refused";
}

TEST(ParseSizeTest, SuffixesAreBinaryInEitherCase) {
  EXPECT_EQ(ParseSize(kMin, "8"), 8U);
  EXPECT_EQ(ParseSize(kMin, "0"), 0U);
  EXPECT_EQ(ParseSize(kMin, "192K"), 196608U);
  EXPECT_EQ(ParseSize(kMin, "2M"), 2097152U);
  for (const char* text : {"64M", "64m", "64MB", "64mb", "64MiB", "64mib", "64Mb"}) {
    EXPECT_EQ(ParseSize(kMin, text), 67108864U) << text;
  }
  EXPECT_EQ(ParseSize(kMin, "1g"), 1073741824U);
  EXPECT_EQ(ParseSize(kMin, "1G"), 1073741824U);
  EXPECT_EQ(ParseSize(kMin, "2T"), 2199023255552U);
  EXPECT_EQ(ParseSize(kMin, "8B"), 8U);
  EXPECT_EQ(ParseSize(kMin, "18446744073709551615"), kLargest);
  EXPECT_EQ(ParseSize(kMin, "16777215T"), 16777215ULL << 40);
}

TEST(ParseSizeTest, RefusesWhatIsNoSize) {
  for (const char* text : {"12Q",
                           "-8",
                           "1.5M",
                           "99999999999999999999",
                           "18446744073709551616",
                           "16777216T",
                           "",
                           "0x100",
                           "8 ",
                           " 8",
                           "+8",
                           "1e6",
                           "8iB",
                           "8KK",
                           "8KiBi",
                           "8BB",
                           "8ki",
                           "M",
                           "all",
                           "8,9",
                           "8\n"}) {
    EXPECT_THAT(Refused([&] { ParseSize(kMin, text); }),
                AllOf(StartsWith("--minbytes (-b): \""), HasSubstr("\": expected ")))
        << text;
  }
  EXPECT_EQ(Refused([] { ParseSize(kMin, "12Q"); }),
            "--minbytes (-b): \"12Q\": expected a whole number of bytes with an optional suffix K, "
            "M, G or T (powers of 1024), for example 64M");
  EXPECT_THAT(Refused([] { ParseSize(kMin, "1.5M"); }), HasSubstr("1536K"));
  EXPECT_THAT(Refused([] { ParseSize(kMin, "99999999999999999999"); }), HasSubstr("2^64-1"));
}

TEST(FormatSizeTest, ParseSizeReadsItBack) {
  EXPECT_EQ(FormatSize(0), "0");
  EXPECT_EQ(FormatSize(1023), "1023");
  EXPECT_EQ(FormatSize(1536), "1536");
  EXPECT_EQ(FormatSize(8192), "8K");
  EXPECT_EQ(FormatSize(64ULL << 20), "64M");
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{2047}, kLargest}) {
    EXPECT_EQ(ParseSize(kMin, FormatSize(bytes)), bytes);
  }
}

TEST(SizeListTest, FixedIncrement) {
  const std::uint64_t mib = 1 << 20;
  EXPECT_THAT(SizeList(64 * mib, 70 * mib, {}, 2 * mib),
              ElementsAre(67108864, 69206016, 71303168, 73400320));
  const auto nine = SizeList(192 << 10, 200 << 10, 1, 1024);  // -f 1 -i 1024
  EXPECT_THAT(nine, SizeIs(9));
  EXPECT_EQ(nine.front(), 196608U);
  EXPECT_EQ(nine.back(), 204800U);
  EXPECT_THAT(SizeList(0, 10, {}, 4), ElementsAre(0, 4, 8));
  EXPECT_THAT(SizeList(kLargest - 3, kLargest, {}, 2), ElementsAre(kLargest - 3, kLargest - 1));
}

TEST(SizeListTest, Factor) {
  EXPECT_THAT(SizeList(1ULL << 30, 2ULL << 30, 2, {}), ElementsAre(1ULL << 30, 2ULL << 30));
  EXPECT_THAT(SizeList(8, 100, {}, {}), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(SizeList(3, 100, 3, {}), ElementsAre(3, 9, 27, 81));
  EXPECT_THAT(SizeList(8, 8, 2, {}), ElementsAre(8));
  EXPECT_THAT(SizeList(8, 8, 1, {}), ElementsAre(8));
  EXPECT_THAT(SizeList(1ULL << 62, kLargest, 2, {}), ElementsAre(1ULL << 62, 1ULL << 63));
}

TEST(SizeListTest, FromZeroReachesTheEnd) {
  const auto sizes = SizeList(0, 1 << 20, 2, {});
  EXPECT_THAT(sizes, SizeIs(19));  // 0, then 2^3 to 2^20
  EXPECT_EQ(sizes[1], 8U);
  EXPECT_EQ(sizes.back(), 1048576U);
  EXPECT_THAT(SizeList(0, 4, 2, {}), ElementsAre(0, 4));
  EXPECT_THAT(SizeList(0, 0, 2, {}), ElementsAre(0));
}

TEST(SizeListTest, RefusesStepsThatDoNotEnd) {
  EXPECT_EQ(Refused([] { SizeList(1 << 30, 1024, 2, {}); }),
            "--maxbytes (-e): \"1024\": expected at least --minbytes (-b), 1073741824");
  EXPECT_THAT(Refused([] { SizeList(8, 64, 1, {}); }), StartsWith("--stepfactor (-f): \"1\": "));
  EXPECT_THAT(Refused([] { SizeList(8, 64, 0, {}); }), StartsWith("--stepfactor (-f): \"0\": "));
  EXPECT_THAT(Refused([] { SizeList(8, 64, {}, 0); }), StartsWith("--stepbytes (-i): \"0\": "));
  EXPECT_THAT(Refused([] { SizeList(8, 64, 2, 8); }), StartsWith("--stepfactor (-f): \"2\": "));
  EXPECT_THAT(Refused([] { SizeList(0, 1ULL << 40, {}, 2); }), HasSubstr("at most 100000 sizes"));
  EXPECT_EQ(Refused([] { ParseCount("--stepfactor (-f)", "1.5", 1); }),
            "--stepfactor (-f): \"1.5\": expected a whole number from 1 to 2^64-1");
  EXPECT_THAT(Refused([] { ParseCount("--stepfactor (-f)", "-2", 1); }), HasSubstr("\"-2\""));
  EXPECT_THAT(Refused([] { ParseCount("--iters (-n)", "0", 1); }), HasSubstr("from 1"));
  EXPECT_EQ(ParseCount("--iters (-n)", "20", 1), 20U);
}

TEST(ParseDurationTest, NeedsAUnitUnlessSecondsAreMeant) {
  EXPECT_DOUBLE_EQ(ParseDuration("--row-budget", "500ms"), 0.5);
  EXPECT_DOUBLE_EQ(ParseDuration("--row-budget", "2s"), 2);
  EXPECT_DOUBLE_EQ(ParseDuration("--row-budget", "1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(ParseDuration("--row-budget", "20us"), 20e-6);
  EXPECT_DOUBLE_EQ(ParseDuration("--row-budget", "2min"), 120);
  EXPECT_DOUBLE_EQ(ParseDuration("--timeout (-T)", "60", BareNumber::kSeconds), 60);
  for (const char* text : {"", "60", "0s", "-1s", "1 s", "s", "1m", "1.5.2s", "inf", "nan", "infs",
                           "1e3s", "0x10s", "1s ", ".5s"}) {
    EXPECT_THAT(Refused([&] { ParseDuration("--row-budget", text); }),
                StartsWith("--row-budget: \"" + std::string(text) + "\": expected a time"));
  }
}

TEST(ParseAlgorithmsTest, CommasInParenthesesBelongToTheLevels) {
  constexpr std::array<std::string_view, 2> kNames = {"ring", "hierarchical"};
  const auto parse = [&](const char* text) { return ParseAlgorithms("--algorithm", text, kNames); };
  EXPECT_THAT(parse("ring,hierarchical(direct,ring),hierarchical"),
              ElementsAre("ring", "hierarchical(direct,ring)", "hierarchical"));
  EXPECT_THAT(parse("hierarchical(direct,ring,bruck)"),
              ElementsAre("hierarchical(direct,ring,bruck)"));
  for (const char* text :
       {"hierarchical(direct)", "hierarchical(direct,ring", "hierarchical(direct,rink)",
        "hierarchical(direct,ring)x", "ring,hierarchical(,)"}) {
    EXPECT_THAT(Refused([&] { parse(text); }), HasSubstr("expected hierarchical(intra,inter)"));
  }
  EXPECT_THAT(Refused([&] {
                CheckLevels("--algorithm", "hierarchical(ring,two_shot)", Collective::kAllReduce);
              }),
              AllOf(StartsWith("--algorithm: \"hierarchical(ring,two_shot)\": expected"),
                    HasSubstr("peers' memory")));
  CheckLevels("--algorithm", "hierarchical(two_shot,ring)", Collective::kAllReduce);
}

TEST(ParseNamesTest, ListsAndAll) {
  constexpr std::array<std::string_view, 3> kNames = {"ring", "bruck", "one_shot"};
  EXPECT_THAT(ParseNames("--algorithm", "all", kNames), ElementsAre("ring", "bruck", "one_shot"));
  EXPECT_THAT(ParseNames("--algorithm", "bruck,ring,bruck", kNames), ElementsAre("bruck", "ring"));
  EXPECT_EQ(
      Refused([&] { ParseNames("--algorithm", "ring,oneshot", kNames); }),
      "--algorithm: \"oneshot\": expected all, or a list of ring, bruck, one_shot; did you mean "
      "\"one_shot\"?");
  for (const char* text : {"", ",", "ring,", ",ring", "ring,,bruck", "ring, bruck"}) {
    EXPECT_THAT(Refused([&] { ParseNames("--algorithm", text, kNames); }),
                HasSubstr("a list of ring, bruck, one_shot"))
        << text;
  }
}

TEST(ParseNamesTest, EnumeratorsInTheirSpellings) {
  EXPECT_THAT(ParseCollectives("collective", "allreduce,all_reduce,bcast"),
              ElementsAre(Collective::kAllReduce, Collective::kBroadcast));
  EXPECT_THAT(ParseCollectives("collective", "all"), SizeIs(kAllCollectives.size()));
  EXPECT_THAT(ParseDataTypes("--datatype (-d)", "half,float"),
              ElementsAre(DataType::kFloat16, DataType::kFloat32));
  EXPECT_THAT(ParseReduceOps("--op (-o)", "all"), SizeIs(kAllReduceOps.size()));
  EXPECT_THAT(Refused([] { ParseReduceOps("--op (-o)", "mulsum"); }),
              HasSubstr("a list of sum, prod, min, max, avg"));
}

TEST(SuggestTest, ClosestNameOrNone) {
  constexpr std::array<std::string_view, 4> kNames = {"sweep", "step", "simulate", "survey"};
  EXPECT_EQ(Suggest("swep", kNames), "sweep");
  EXPECT_EQ(Suggest("simlate", kNames), "simulate");
  EXPECT_EQ(Suggest("sep", kNames), "step");
  EXPECT_FALSE(Suggest("xyz", kNames).has_value());
  EXPECT_FALSE(Suggest("", kNames).has_value());
  constexpr std::array<std::string_view, 2> kShort = {"-h", "-b"};
  EXPECT_FALSE(Suggest("-z", kShort).has_value());
}

}  // namespace
}  // namespace hockney
