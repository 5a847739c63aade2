#pragma once

#include <cstdint>
#include <vector>

namespace hockney {

// A product of a (rows x depth) and a (depth x columns) matrix: two flops a multiply-add.
struct ProductShape {
  int rows = 1;
  int columns = 1;
  int depth = 1;
};

// What `flops` are made of.
struct ProductPlan {
  int side = 1;
  std::int64_t whole = 0;              // products of `side` in every dimension
  std::vector<ProductShape> cut = {};  // for what is left, at most one cut in each dimension
};

// Returns products of so many flops, but for less than 2. Throws std::invalid_argument for a
// negative number, or one that is none.
ProductPlan PlanProducts(double flops, int side);

// All of the plan's products, one after the other.
template <class Do>
void ForEachProduct(const ProductPlan& plan, const Do& multiply) {
  for (std::int64_t i = 0; i < plan.whole; ++i) multiply({plan.side, plan.side, plan.side});
  for (const ProductShape& shape : plan.cut) multiply(shape);
}

}  // namespace hockney
