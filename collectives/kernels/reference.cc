#include <cstring>

#include "collectives/kernels/kernels.h"
#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

template <Element E, ReduceOp kOp>
typename E::Storage ReduceElement(const KernelArgs& args, std::size_t element) {
  using A = typename E::Accumulator;
  A sum{};
  for (std::size_t s = 0; s < args.source_count; ++s) {
    typename E::Storage stored;
    std::memcpy(&stored, args.sources[s] + element * sizeof stored, sizeof stored);
    bool scales = false;
    if constexpr (kOp == ReduceOp::kAvg && std::is_floating_point_v<A>) {
      scales = args.scaled != nullptr && args.scaled[s] != 0;
    }
    const bool divides = kOp == ReduceOp::kAvg && std::is_integral_v<A> && args.divide;
    if (args.source_count == 1 && !scales && !divides) return stored;  // a copy keeps NaN payloads
    A value = E::Decode(stored);
    if constexpr (std::is_floating_point_v<A>) {
      if (scales) value = value * AverageScale<A>(args.ranks);
    }
    sum = s == 0 ? value : Combine<kOp>(sum, value);
  }
  if constexpr (kOp == ReduceOp::kAvg && std::is_integral_v<A>) {
    if (args.divide) sum = Divide(sum, args.ranks);
  }
  return E::Encode(sum);
}

template <Element E, ReduceOp kOp>
void ReduceAll(const KernelArgs& args) {
  for (std::size_t i = 0; i < args.count; ++i) {
    const auto result = ReduceElement<E, kOp>(args, i);
    for (std::size_t d = 0; d < args.destination_count; ++d) {
      std::memcpy(args.destinations[d] + i * sizeof result, &result, sizeof result);
    }
  }
}

template <Element E>
void ReduceWith(ReduceOp op, const KernelArgs& args) {
  switch (op) {
    case ReduceOp::kSum:
      return ReduceAll<E, ReduceOp::kSum>(args);
    case ReduceOp::kProd:
      return ReduceAll<E, ReduceOp::kProd>(args);
    case ReduceOp::kMin:
      return ReduceAll<E, ReduceOp::kMin>(args);
    case ReduceOp::kMax:
      return ReduceAll<E, ReduceOp::kMax>(args);
    case ReduceOp::kAvg:
      return ReduceAll<E, ReduceOp::kAvg>(args);
  }
  throw std::invalid_argument("unknown ReduceOp " + std::to_string(static_cast<int>(op)));
}

}  // namespace

void ReferenceKernel(DataType type, ReduceOp op, const KernelArgs& args) {
  VisitElement(type, [&]<Element E>(E) { ReduceWith<E>(op, args); });
}

}  // namespace hockney
