// Memory bandwidth of the kernels: bytes read plus bytes written per second, as the caller sees
// them.

#include <benchmark/benchmark.h>
#include <hwy/aligned_allocator.h>

#include <array>
#include <cstring>
#include <string>

#include "collectives/kernels/kernels.h"

namespace hockney {
namespace {

using Buffer = hwy::AlignedFreeUniquePtr<std::byte[]>;

Buffer MakeBuffer(std::size_t bytes) {
  Buffer buffer = hwy::AllocateAligned<std::byte>(bytes);
  std::memset(buffer.get(), 0, bytes);
  return buffer;
}

struct Shape {
  DataType type = DataType::kFloat32;
  std::size_t sources = 1;
  StorePolicy store = StorePolicy::kCached;
};

void RunKernelBenchmark(benchmark::State& state, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::array<Buffer, 3> buffers = {MakeBuffer(bytes), MakeBuffer(bytes), MakeBuffer(bytes)};
  const std::array<const std::byte*, 2> from = {buffers[0].get(), buffers[1].get()};
  std::byte* to = buffers[2].get();
  const Kernel kernel = FindKernel(shape.type, ReduceOp::kSum, shape.store);
  const KernelArgs args{.sources = from.data(),
                        .destinations = &to,
                        .source_count = shape.sources,
                        .destination_count = 1,
                        .count = bytes / ElementBytes(shape.type)};
  while (state.KeepRunning()) {
    kernel(args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(bytes * (shape.sources + 1)));
  state.SetLabel(KernelTarget());
}

void Register() {
  for (const DataType type :
       {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16, DataType::kFloat8E4m3}) {
    for (const std::size_t sources : {1, 2}) {
      if (sources == 1 && type != DataType::kFloat32) continue;  // a copy is the same for all types
      for (const StorePolicy store : {StorePolicy::kCached, StorePolicy::kNonTemporal}) {
        const std::string name = (sources == 1 ? "copy" : "reduce2/" + std::string(Name(type))) +
                                 (store == StorePolicy::kCached ? "/cached" : "/non_temporal");
        const Shape shape{.type = type, .sources = sources, .store = store};
        benchmark::RegisterBenchmark(
            name.c_str(), [shape](benchmark::State& state) { RunKernelBenchmark(state, shape); })
            ->RangeMultiplier(4)
            ->Range(4 << 10, 64 << 20);
      }
    }
  }
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  hockney::Register();
  benchmark::RunSpecifiedBenchmarks();
}
