// cuBLAS's computer with a library that multiplies nothing, on threads of this CPU that say they
// have a stream. Nothing here shows what a GPU would do.
#include "bench/training/cublas_computer.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/bench/training/fake_cublas.h"
#include "tests/collectives/thread_device.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::FakeCublas;
using testing::FakeProduct;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kFake[] = {"/no/libcublas.so.13", HOCKNEY_FAKE_CUBLAS};

// What the library, once loaded, has seen since.
FakeCublas& Seen() {
  void* library = dlopen(HOCKNEY_FAKE_CUBLAS, RTLD_NOW | RTLD_LOCAL);
  auto* seen = reinterpret_cast<FakeCublas* (*)()>(dlsym(library, "FakeCublasSeen"));
  return *seen();
}

double FlopsOf(const FakeProduct& product) { return 2.0 * product.m * product.n * product.k; }

class CublasComputerTest : public ::testing::Test {
 protected:
  static constexpr CublasComputer::Options kSmall{.most_side = 512, .pass_bytes = 1 << 20};

  CublasComputerTest() { Seen().products.clear(); }

  int stream_ = 0;  // its address is the stream
  std::unique_ptr<Device> device_ = testing::MakeThreadDevice({.stream = &stream_});
};

TEST_F(CublasComputerTest, ANodeDoesItsFlopsOnTheStreamOfTheDevice) {
  CublasComputer computer(*device_, Cublas::Load(kFake), kSmall);
  StepNode node;
  node.flops = 3.2e9 + 2 * 17;
  computer.Start(StepClock::now());
  computer.Run(node, StepClock::now());
  double flops = 0;
  for (const FakeProduct& product : Seen().products) {
    flops += FlopsOf(product);
    EXPECT_EQ(product.stream, &stream_);
    EXPECT_LE(std::max({product.m, product.n, product.k}), 512);
    EXPECT_EQ(product.lda, product.m);  // stored by columns
    EXPECT_EQ(product.ldb, product.k);
    EXPECT_EQ(product.ldc, product.m);
    EXPECT_EQ(product.type, 14);          // CUDA_R_16BF
    EXPECT_EQ(product.compute_type, 68);  // CUBLAS_COMPUTE_32F
    EXPECT_EQ(product.alpha, 1);
    EXPECT_EQ(product.beta, 0);
  }
  EXPECT_EQ(flops, node.flops);
}

TEST_F(CublasComputerTest, TheEndOfANodeIsWhenTheDeviceCameToIt) {
  CublasComputer computer(*device_, Cublas::Load(kFake), kSmall);
  StepNode node;
  node.memory_bytes = 64 << 20;  // copies, which the threads do for real
  const StepClock::time_point start = StepClock::now();
  computer.Start(start);
  StepClock::time_point last = start;
  for (int i = 0; i < 3; ++i) {
    const StepClock::time_point end = computer.Run(node, last);
    EXPECT_GT(end, last);
    EXPECT_LE(end, StepClock::now());
    last = end;
  }
}

TEST_F(CublasComputerTest, WarmingUpRunsTheNodesThatCompute) {
  CublasComputer computer(*device_, Cublas::Load(kFake), kSmall);
  StepGraph graph;
  graph.nodes.resize(3);
  graph.nodes[0].flops = 1e6;
  graph.nodes[1].kind = StepKind::kCollective;
  graph.nodes[2].flops = 3e6;
  computer.WarmUp(graph);
  double flops = 0;
  for (const FakeProduct& product : Seen().products) flops += FlopsOf(product);
  EXPECT_EQ(flops, 4e6);
}

TEST_F(CublasComputerTest, SaysWhatItIsAndGivesItsHandleBack) {
  {
    const CublasComputer computer(*device_, Cublas::Load(kFake), kSmall);
    EXPECT_EQ(computer.Describe(), "cuBLAS 13.1.2, bfloat16, on threads of this CPU");
    EXPECT_EQ(Seen().handles, 1);
  }
  EXPECT_EQ(Seen().handles, 0);
}

TEST_F(CublasComputerTest, ADeviceThatIsNoGpuIsRefused) {
  const auto device = testing::MakeThreadDevice();
  EXPECT_THAT([&] { CublasComputer(*device, Cublas::Load(kFake), kSmall); },
              ThrowsMessage<EnvironmentError>(HasSubstr("no GPU for cuBLAS")));
}

TEST_F(CublasComputerTest, WhatCublasRefusesIsSaidInItsWords) {
  setenv("FAKE_CUBLAS_FAILS", "1", 1);
  EXPECT_THAT([&] { CublasComputer(*device_, Cublas::Load(kFake), kSmall); },
              ThrowsMessage<BackendError>("cublasCreate: the library was not initialized"));
  unsetenv("FAKE_CUBLAS_FAILS");
}

TEST(CublasTest, ALibraryThatIsNotThereIsNamedWithItsPackage) {
  constexpr const char* kNone[] = {"libno-such-cublas.so.13", "libno-such-cublas.so.12"};
  EXPECT_THAT([&] { Cublas::Load(kNone); },
              ThrowsMessage<EnvironmentError>(AllOf(HasSubstr("libno-such-cublas.so.13"),
                                                    HasSubstr("libno-such-cublas.so.12"),
                                                    HasSubstr("install package libcublas"))));
  constexpr const char* kOther[] = {"libm.so.6"};
  EXPECT_THAT([&] { Cublas::Load(kOther); },
              ThrowsMessage<EnvironmentError>(HasSubstr("has no cublasGetProperty")));
}

TEST(CublasTest, ProductsAreAsLargeAsTheFlopsFill) {
  EXPECT_EQ(CublasSide(0, 4096), 256);
  EXPECT_EQ(CublasSide(2.0 * 512 * 512 * 512, 4096), 512);
  EXPECT_EQ(CublasSide(2.0 * 512 * 512 * 512 - 2, 4096), 256);
  EXPECT_EQ(CublasSide(1e15, 4096), 4096);
  EXPECT_EQ(CublasSide(1e15, 128), 128);
}

}  // namespace
}  // namespace hockney
