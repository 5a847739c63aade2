#pragma once

// Inputs of collectives whose correct result is known exactly, whatever the order of the reduction,
// so that results are compared bit for bit. Every value is a hash of (seed, rank, element): any
// part of a buffer is made by itself.
//
// Sum of floats: one rank of each of up to 8 groups of neighbours holds a share, the others +0.
// Half of the shares add up to an integer that fits the significand, the other half to the negative
// of a smaller one, all times a random sign and power of two: each partial sum is exact, and what
// is left is small enough to show a small gain of one rank.
//
// Average of floats: one rank holds a number, the others +0; nothing is added up, so only the
// scaling rounds.
//
// Product of floats: factors of +-1, +-2 and +-1/2 over the same ranks as for sum; the others hold
// 1. Exact.
//
// Sum, product and average of integers: random numbers on every rank (odd ones for the product);
// wrapping is exact.
//
// Minimum and maximum: one rank holds the extreme value, the others random finite ones. No zeros:
// +0 and -0 tie.
//
// So a rank counts in about 1 of max(1, ranks / 8) elements of a float sum or product, and in 1 of
// `ranks` of a float average, min or max: shorter buffers may miss a wrong rank.

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/types.h"

namespace hockney {

struct DataSpec {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  bool reduces = true;  // false: random bits, for collectives that only move data
  int ranks = 1;
  std::uint64_t seed = 0;  // a new one for each repetition makes stale data visible
};

// Writes elements first_element, first_element + 1, ... of the input of `rank`. `out` is a whole
// number of elements. Throws std::invalid_argument for a rank outside 0 ... ranks - 1 or a part of
// an element.
void FillInput(const DataSpec& spec, int rank, std::uint64_t first_element,
               std::span<std::byte> out);

// What any rank must hold of the input of `source_rank` after a collective that only moves data.
void ExpectedInput(const DataSpec& spec, int source_rank, std::uint64_t first_element,
                   std::span<std::byte> out);

// The reduction of all ranks' inputs. Costs O(1) an element; sum, prod and avg of integers
// O(ranks).
void ExpectedReduced(const DataSpec& spec, std::uint64_t first_element, std::span<std::byte> out);

// Fills a buffer with what no float result equals (NaN) and integer results only by chance.
void Poison(std::span<std::byte> bytes);

// Marks bytes beyond a buffer, and says whether they are still as marked.
void WriteGuard(std::span<std::byte> bytes);
[[nodiscard]] bool CheckGuard(std::span<const std::byte> bytes);

// Returns how many elements differ: in any bit, or for floats and ulps > 0 by more than `ulps`
// steps between neighbouring numbers. first_bad, if not null, receives the index of the first, if
// there is one. Throws std::invalid_argument if the lengths differ.
[[nodiscard]] std::uint64_t CountMismatches(std::span<const std::byte> got,
                                            std::span<const std::byte> expected, DataType type,
                                            unsigned ulps = 0, std::uint64_t* first_bad = nullptr);

}  // namespace hockney
