#include "bench/links/kernel_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "bench/links/kernel_report.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::map<std::string, SliceClass> ByName(const CacheSizes& caches, int ranks) {
  std::map<std::string, SliceClass> classes;
  for (const SliceClass& each : SliceClasses(caches, ranks)) classes[each.name] = each;
  return classes;
}

TEST(SliceClassesTest, ThreeOperandsLieWhereTheNameSays) {
  const CacheSizes caches{.l2_bytes = kMiB, .llc_bytes = 32 * kMiB, .llc_ranks = 8};
  for (const int ranks : {1, 2, 3, 8}) {
    const auto classes = ByName(caches, ranks);
    EXPECT_LE(3 * classes.at("l2").bytes, kMiB / 2);
    EXPECT_EQ(classes.at("l2").room_bytes, classes.at("l2").bytes);
    const std::uint64_t all = static_cast<std::uint64_t>(ranks);
    if (ranks <= 3) {
      EXPECT_GT(3 * classes.at("llc").bytes, 2 * kMiB);
      EXPECT_LE(3 * classes.at("llc").bytes * all, 8 * kMiB);
    } else {
      EXPECT_FALSE(classes.contains("llc"));  // a share of 1 MiB is in the L2 caches
    }
    // Two operands, as a copy has them, are twice the cache.
    EXPECT_GE(2 * classes.at("memory").room_bytes * all, 64 * kMiB);
    EXPECT_EQ(classes.at("memory").room_bytes % classes.at("memory").bytes, 0U);
  }
}

TEST(SliceClassesTest, RanksWithCachesOfTheirOwnShareNothing) {
  const CacheSizes caches{.l2_bytes = kMiB, .llc_bytes = 32 * kMiB, .llc_ranks = 2};
  EXPECT_EQ(ByName(caches, 64).at("memory").room_bytes, ByName(caches, 2).at("memory").room_bytes);
}

using Key = std::tuple<std::int64_t, std::string, std::string, DataType, std::string>;

TEST(SurveyKernelsTest, EveryTypeStoreAndClassIsMeasuredAloneAndTogether) {
  std::vector<KernelRow> emitted;
  RunThreadRanks(2, 60, [&](Session& session) {
    Session local = session.SplitSharedMemory();
    const KernelOptions options{
        .caches = {.l2_bytes = 64 * 1024, .llc_bytes = 2 * kMiB, .llc_ranks = 2},
        .host = "here",
        .row_seconds = 1e-4};
    const KernelFindings found = SurveyKernels(
        session, local, options, [&](const KernelRow& row) { emitted.push_back(row); });
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(found.rows.empty(), session.rank() != 0);
  });
  std::set<Key> keys;
  for (const KernelRow& row : emitted) {
    keys.insert({row.ranks_at_once, row.kernel, row.size_class, row.dtype.value(), row.store});
    EXPECT_GT(row.time_us_median, 0);
    EXPECT_TRUE(row.time_us_ci_low && row.time_us_ci_high);
    const double operands = row.kernel == "copy" ? 2 : 3;
    const double bytes = operands * static_cast<double>(row.size_bytes * row.ranks_at_once);
    EXPECT_NEAR(row.rate_GBps, bytes / row.time_us_median / 1e3, 1e-9 * row.rate_GBps);
    EXPECT_EQ(row.host, "here");
  }
  // One copy and a sum of each type, by store policies, classes, and one or two ranks.
  EXPECT_EQ(keys.size(), (1 + kAllDataTypes.size()) * 2 * 3 * 2);
  EXPECT_EQ(emitted.size(), keys.size());
  const std::string text = KernelsText(emitted);
  EXPECT_THAT(text, HasSubstr("2 ranks memory"));
  EXPECT_THAT(text, HasSubstr("sum float8_e5m2"));
}

TEST(SurveyKernelsTest, RanksThatShareCoresAreNotMeasuredAtOnce) {
  RunThreadRanks(2, 60, [&](Session& session) {
    Session local = session.SplitSharedMemory();
    const KernelOptions options{
        .caches = {.l2_bytes = 64 * 1024, .llc_bytes = 256 * 1024, .llc_ranks = 2},
        .ranks_share_cores = true,
        .row_seconds = 1e-4};
    const auto found = SurveyKernels(session, local, options, [](const KernelRow&) {});
    for (const KernelRow& row : found.rows) EXPECT_EQ(row.ranks_at_once, 1);
    EXPECT_EQ(found.rows.empty(), session.rank() != 0);
  });
}

TEST(KernelsTextTest, NothingMeasuredIsNothingSaid) { EXPECT_EQ(KernelsText({}), ""); }

}  // namespace
}  // namespace hockney
