#include "tuner/simulate/machine_of_model.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tuner/simulate/predict.h"

namespace hockney {
namespace {

// 20 us and 1 GB/s until a bucket is empty after 125,000 bytes, then 0.1 GB/s.
PiecewiseLine Shaped() {
  return PiecewiseLine({{.begin_bytes = 0, .alpha_seconds = 20e-6, .beta_seconds_per_byte = 1e-9},
                        {.begin_bytes = 125000,
                         .alpha_seconds = 20e-6 + 125000 * (1e-9 - 1e-8),
                         .beta_seconds_per_byte = 1e-8}});
}

LevelModel LevelOf(const char* name, PiecewiseLine line) {
  return {.level = name, .fit = {.line = std::move(line)}};
}

TEST(MachineOfModelTest, ABendIsABucketThatFillsWhileItEmpties) {
  const LinkShape shape = ShapeOfLink(Shaped());
  EXPECT_DOUBLE_EQ(shape.alpha_seconds, 20e-6);
  EXPECT_NEAR(shape.connection_bytes_per_second, 1e9, 1);
  EXPECT_NEAR(shape.bytes_per_second, 1e8, 1);
  EXPECT_NEAR(shape.burst_bytes, 125000 * 0.9, 1);
}

// Messages that go to and fro half fill the bucket of one way while the other is under way.
TEST(MachineOfModelTest, AHalfDrainedBucketIsNoRateOfItsOwn) {
  const double second = 1e-12 + 20e-6 + 20000 * (1e-9 - 5e-9);  // rounding must not make times fall
  const LinkShape shape = ShapeOfLink(
      PiecewiseLine({{.begin_bytes = 0, .alpha_seconds = 20e-6, .beta_seconds_per_byte = 1e-9},
                     {.begin_bytes = 20000, .alpha_seconds = second, .beta_seconds_per_byte = 5e-9},
                     {.begin_bytes = 250000,
                      .alpha_seconds = 1e-12 + second + 250000 * (5e-9 - 1e-8),
                      .beta_seconds_per_byte = 1e-8}}));
  EXPECT_NEAR(shape.connection_bytes_per_second, 1e9, 1);
  EXPECT_NEAR(shape.bytes_per_second, 1e8, 1);
  EXPECT_NEAR(shape.burst_bytes, (20000 * 4 + 250000 * 5) / 9.0 * 0.9, 1);
}

TEST(MachineOfModelTest, AStraightLineHasNoBucket) {
  const LinkShape shape = ShapeOfLink(
      PiecewiseLine({{.begin_bytes = 0, .alpha_seconds = 1e-6, .beta_seconds_per_byte = 1e-9}}));
  EXPECT_EQ(shape.burst_bytes, 0);
  EXPECT_NEAR(shape.bytes_per_second, 1e9, 1);
}

TEST(MachineOfModelTest, OneMessageTakesTheTimeThatWasFitted) {
  Model model;
  model.levels.push_back(LevelOf("rack", Shaped()));
  const SimMachine machine = MachineOfModel(model, BlockPlacement(2, 2));
  SimRequest request;
  request.row = FindAlgorithm(Collective::kBroadcast, "naive_root");
  request.limits.slot_bytes = std::size_t{1} << 30;
  request.parameters.slices = 1;
  for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1} << 20}) {
    request.counts = EvenCounts({Collective::kBroadcast, 2, 0}, bytes / 4);
    const double expected = Shaped().Seconds(static_cast<double>(bytes));
    EXPECT_NEAR(Simulation(request, machine).Run().seconds, expected, 1e-6 * expected) << bytes;
  }
}

TEST(MachineOfModelTest, AMissingLevelIsNamed) {
  Model model;
  model.levels.push_back(LevelOf("rack", Shaped()));
  EXPECT_THROW(MachineOfModel(model, BlockPlacement(4, 2)), std::invalid_argument);
  EXPECT_THROW(MachineOfModel(model, BlockPlacement(4, 4, 2)), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
