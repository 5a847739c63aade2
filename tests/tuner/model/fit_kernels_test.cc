#include "tuner/model/fit_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scratch_folder.h"
#include "tuner/model/fit_runs.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A pass over `bytes` of an operand that takes `us`, known to a tenth of it either way.
KernelRow Row(const char* kernel, DataType type, double us, std::int64_t ranks = 1) {
  KernelRow row;
  row.host = "h0";
  row.kernel = kernel;
  row.dtype = type;
  row.store = "cached";
  row.ranks_at_once = ranks;
  row.size_bytes = 1000;
  row.size_class = "memory";
  row.time_us_median = us;
  row.time_us_ci_low = 0.9 * us;
  row.time_us_ci_high = 1.1 * us;
  const double operands = row.kernel == "copy" ? 2 : 3;
  row.rate_GBps = operands * 1000 * static_cast<double>(ranks) / us / 1e3;
  return row;
}

TEST(FitKernelsTest, GammaIsWhatASumTakesLongerThanACopy) {
  const std::vector<KernelRow> rows = {Row("copy", DataType::kUint8, 2),
                                       Row("sum", DataType::kFloat32, 3),
                                       Row("sum", DataType::kFloat32, 6, 4)};
  std::vector<std::string> refused;
  const std::vector<KernelModel> models = FitKernels(rows, refused);
  EXPECT_TRUE(refused.empty());
  ASSERT_EQ(models.size(), 2U);
  EXPECT_DOUBLE_EQ(models[0].seconds_per_byte->value, 2e-9);
  EXPECT_FALSE(models[0].gamma_seconds_per_byte.has_value());
  EXPECT_EQ(models[0].node_ranks, 1);
  EXPECT_DOUBLE_EQ(models[0].node_GBps->value, 1);
  const KernelModel& sum = models[1];
  EXPECT_DOUBLE_EQ(sum.seconds_per_byte->value, 3e-9);
  EXPECT_NEAR(sum.gamma_seconds_per_byte->value, 1e-9, 1e-18);
  // 0.1 of 2 and of 3 ns, independent of each other, over 1 ns.
  EXPECT_NEAR(sum.gamma_seconds_per_byte->spread, std::sqrt(0.04 + 0.09), 1e-9);
  EXPECT_EQ(sum.node_ranks, 4);
  EXPECT_DOUBLE_EQ(sum.node_GBps->value, 2);  // 3 operands of 1000 bytes of 4 ranks in 6 us
  EXPECT_EQ(ConfidenceOf(*sum.seconds_per_byte), Confidence::kFair);
  EXPECT_EQ(ConfidenceOf(*sum.gamma_seconds_per_byte), Confidence::kLow);
}

TEST(FitKernelsTest, TypesClassesAndStoresAreApartAndRunsTogether) {
  std::vector<KernelRow> rows;
  for (const double us : {3.0, 3.3, 3.9}) rows.push_back(Row("sum", DataType::kFloat32, us));
  rows.push_back(Row("sum", DataType::kFloat64, 5));
  rows.push_back(Row("sum", DataType::kFloat32, 1));
  rows.back().size_class = "l2";
  rows.push_back(Row("sum", DataType::kFloat32, 2));
  rows.back().store = "non_temporal";
  std::vector<std::string> refused;
  const std::vector<KernelModel> models = FitKernels(rows, refused);
  ASSERT_EQ(models.size(), 4U);
  EXPECT_DOUBLE_EQ(models[0].seconds_per_byte->value, 3.3e-9);
  EXPECT_EQ(models[0].seconds_per_byte->points, 3U);
  EXPECT_NEAR(models[0].seconds_per_byte->spread, 0.45 / 3.3, 1e-9);
  EXPECT_FALSE(models[0].gamma_seconds_per_byte.has_value());  // no copy was measured
}

TEST(FitKernelsTest, ASumThatIsNoSlowerThanACopyCostsNothingMore) {
  const std::vector<KernelRow> rows = {Row("copy", DataType::kUint8, 3),
                                       Row("sum", DataType::kFloat32, 2.9)};
  std::vector<std::string> refused;
  const Measured gamma = *FitKernels(rows, refused)[1].gamma_seconds_per_byte;
  EXPECT_EQ(gamma.value, 0);
  EXPECT_EQ(ConfidenceOf(gamma), Confidence::kUnknown);
}

TEST(FitKernelsTest, RowsThatAreNoMeasurementAreTold) {
  std::vector<KernelRow> rows = {Row("sum", DataType::kFloat32, 0),
                                 Row("sum", DataType::kFloat64, 1)};
  rows[1].dtype.reset();
  std::vector<std::string> refused;
  EXPECT_TRUE(FitKernels(rows, refused).empty());
  EXPECT_THAT(refused,
              ElementsAre(HasSubstr("sum memory float32: a time, size or rate that is not"),
                          HasSubstr("sum memory: no dtype")));
}

TEST(FitKernelsTest, AFolderWithKernelsAloneIsFitted) {
  const testing::ScratchFolder folder;
  const std::vector<KernelRow> rows = {Row("copy", DataType::kUint8, 2),
                                       Row("sum", DataType::kFloat8E5m2, 3)};
  RunFolder::Create(folder.Path("run")).AppendKernels(rows);
  const std::vector<RunRecords> runs = {ReadRecords(folder.Path("run"))};
  EXPECT_EQ(runs[0].kernels, rows);
  const Model model = FitRuns(runs);
  ASSERT_EQ(model.kernels.size(), 2U);
  EXPECT_EQ(model.kernels[1].dtype, DataType::kFloat8E5m2);
  EXPECT_TRUE(model.levels.empty());
}

}  // namespace
}  // namespace hockney
