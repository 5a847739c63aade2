#include "bench/training/product_plan.h"

#include <fmt/format.h>

#include <stdexcept>

namespace hockney {

ProductPlan PlanProducts(double flops, int side) {
  if (!(flops >= 0 && flops < 1e21)) {
    throw std::invalid_argument(fmt::format("{:g} flops: expected 0 to 1e21", flops));
  }
  const std::int64_t row = side;
  auto left = static_cast<std::int64_t>(flops / 2);  // multiply-adds
  ProductPlan plan{.side = side};
  plan.whole = left / (row * row * row);
  left %= row * row * row;
  if (const auto depth = static_cast<int>(left / (row * row)); depth > 0)
    plan.cut.push_back({side, side, depth});
  left %= row * row;
  if (const auto columns = static_cast<int>(left / row); columns > 0)
    plan.cut.push_back({side, columns, 1});
  if (const auto rows = static_cast<int>(left % row); rows > 0) plan.cut.push_back({rows, 1, 1});
  return plan;
}

}  // namespace hockney
