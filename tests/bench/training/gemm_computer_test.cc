#include "bench/training/gemm_computer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/bench/training/load_gemm.h"
#include "topology/check.h"

namespace hockney {
namespace {

double FlopsOf(const ProductShape& shape) { return 2.0 * shape.rows * shape.columns * shape.depth; }

double FlopsOf(const ProductPlan& plan) {
  double flops = static_cast<double>(plan.whole) * FlopsOf({256, 256, 256});
  for (const ProductShape& shape : plan.cut) flops += FlopsOf(shape);
  return flops;
}

TEST(PlanProductsTest, FlopsAreThoseAskedFor) {
  constexpr double kWhole = 2.0 * 256 * 256 * 256;
  for (const double flops : {0.0, 2.0, 510.0, 512.0, 514.0, 131070.0, 131072.0, kWhole - 2, kWhole,
                             kWhole + 2, 7 * kWhole + 123456, 1e12 + 2}) {
    EXPECT_EQ(FlopsOf(PlanProducts(flops, kProductSide)), flops) << flops;
  }
  EXPECT_EQ(FlopsOf(PlanProducts(1001.5, kProductSide)), 1000);
  EXPECT_EQ(PlanProducts(3 * kWhole, kProductSide).whole, 3);
}

TEST(PlanProductsTest, NoProductIsAboveTheSide) {
  for (double flops = 2; flops < 1e11; flops *= 1.7) {
    const ProductPlan plan = PlanProducts(flops, kProductSide);
    EXPECT_LE(plan.cut.size(), 3U);
    for (const ProductShape& shape : plan.cut) {
      EXPECT_LE(std::max({shape.rows, shape.columns, shape.depth}), kProductSide);
      EXPECT_GE(std::min({shape.rows, shape.columns, shape.depth}), 1);
    }
  }
}

TEST(PlanProductsTest, RefusesWhatIsNoNumberOfFlops) {
  EXPECT_THROW(PlanProducts(-1, kProductSide), std::invalid_argument);
  EXPECT_THROW(PlanProducts(std::numeric_limits<double>::quiet_NaN(), kProductSide),
               std::invalid_argument);
}

// Counts what a node makes the computer do.
struct Counted {
  double flops = 0;
  GemmComputer computer{
      [this](const GemmOperand<float>& a, const GemmOperand<float>& b, float* /*result*/) {
        EXPECT_EQ(a.columns, b.rows);
        flops += FlopsOf({a.rows, b.columns, a.columns});
      },
      "counted"};
};

TEST(GemmComputerTest, ANodeDoesItsFlopsAndNoMore) {
  Counted counted;
  StepNode node;
  node.flops = 3.2e9;
  const StepClock::time_point before = StepClock::now();
  const StepClock::time_point end = counted.computer.Run(node, before);
  EXPECT_EQ(counted.flops, 3.2e9);
  EXPECT_GE(end, before);
  EXPECT_LE(end, StepClock::now());
  counted.computer.Run(node, before);
  EXPECT_EQ(counted.flops, 6.4e9);
}

TEST(GemmComputerTest, ANodeVisitsItsBytesOnceReadAndOnceWritten) {
  Counted counted;
  StepNode node;
  const std::size_t elements = counted.computer.visited().size();
  const auto sum = [&] {
    const auto visited = counted.computer.visited();
    return std::accumulate(visited.begin(), visited.end(), 0.0);
  };
  for (const double visits : {1.0, 1000.0, 2.5 * static_cast<double>(elements)}) {
    const double before = sum();
    node.memory_bytes = visits * 8;
    counted.computer.Run(node, StepClock::now());
    EXPECT_EQ(sum() - before, visits);
  }
  // Passes go on where the last one ended, so none of the memory is visited far more than others.
  EXPECT_EQ(counted.computer.visited().front(), 3);
  EXPECT_EQ(counted.computer.visited().back(), 2);
  EXPECT_EQ(counted.flops, 0);
}

TEST(GemmTest, ALibraryThatIsNotThereIsNamedWithItsPackage) {
  EXPECT_THAT(
      [] { Gemm::Load("libno-such-blas.so"); },
      ::testing::ThrowsMessage<EnvironmentError>(::testing::AllOf(
          ::testing::HasSubstr("libno-such-blas.so"), ::testing::HasSubstr("libopenblas0"))));
  EXPECT_THAT([] { Gemm::Load("libm.so.6"); },
              ::testing::ThrowsMessage<EnvironmentError>(::testing::HasSubstr("cblas_sgemm")));
}

// Every way to transpose, against sums written out.
TEST(GemmTest, ProductsOfTransposedOperands) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  constexpr int kRows = 3;
  constexpr int kDepth = 5;
  constexpr int kColumns = 4;
  for (const bool transposes_a : {false, true}) {
    for (const bool transposes_b : {false, true}) {
      std::vector<double> a(kRows * kDepth);
      std::vector<double> b(kDepth * kColumns);
      std::vector<double> expected(kRows * kColumns);
      const auto at_a = [&](int i, int k) -> double& {
        return a[transposes_a ? k * kRows + i : i * kDepth + k];
      };
      const auto at_b = [&](int k, int j) -> double& {
        return b[transposes_b ? j * kDepth + k : k * kColumns + j];
      };
      for (int k = 0; k < kDepth; ++k) {
        for (int i = 0; i < kRows; ++i) at_a(i, k) = i + 10 * k;
        for (int j = 0; j < kColumns; ++j) at_b(k, j) = 7 * j - k;
      }
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kColumns; ++j) {
          for (int k = 0; k < kDepth; ++k) expected[i * kColumns + j] += at_a(i, k) * at_b(k, j);
        }
      }
      const auto operand = [](const std::vector<double>& data, int rows, int columns, bool is) {
        return GemmOperand<double>{data.data(), is ? columns : rows, is ? rows : columns, is};
      };
      std::vector<double> result(kRows * kColumns, -1);
      gemm->Multiply(operand(a, kRows, kDepth, transposes_a),
                     operand(b, kDepth, kColumns, transposes_b), result.data());
      EXPECT_EQ(result, expected) << transposes_a << transposes_b;
    }
  }
}

TEST(GemmTest, OperandsThatDoNotFitAreRefused) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  const std::vector<float> data(6);
  std::vector<float> result(9);
  EXPECT_THROW(gemm->Multiply({data.data(), 2, 3}, {data.data(), 2, 3}, result.data()),
               std::invalid_argument);
}

TEST(GemmTest, SaysWhatItIs) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  EXPECT_THAT(gemm->library(), ::testing::MatchesRegex("OpenBLAS [0-9.]+, 1 thread"));
  EXPECT_EQ(GemmComputer(gemm).Describe(), gemm->library());
}

}  // namespace
}  // namespace hockney
