#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// Returns bytes from a whole number with an optional suffix K, M, G or T of either case: powers of
// 1024, as in nccl-tests. A trailing B or iB changes nothing: 64M = 64m = 64MB = 64MiB = 67108864.
// Throws UsageError (options.h) for fractions, signs, spaces, 0x, other suffixes, an empty text and
// results above 64 bits.
std::uint64_t ParseSize(std::string_view option, std::string_view text);

// Returns the text that ParseSize reads back as `bytes`, whole in the largest suffix: 1536 ->
// "1536", 8192 -> "8K".
std::string FormatSize(std::uint64_t bytes);

// Most sizes that one sweep may ask for; a slip in the unit of the increment asks for far more.
inline constexpr std::size_t kMostSizes = 100'000;

// Returns the sizes from `begin` to at most `end` bytes, ascending. One of the two ways to step:
// - by `increment` bytes (> 0), with `factor` unset or 1 (nccl-tests' "not geometric"): begin,
// begin + increment, ...
// - by `factor` (>= 2; 2 if neither is given): begin, begin * factor, ...; from 0 it goes on with 8
// bytes (or `end`, if
//   that is less), so that the end is reached.
// begin == end is one size, whatever the steps. Throws UsageError, naming the option, for end <
// begin, factor 0, increment 0, factor 1 without increment, both ways at once, and more than
// kMostSizes sizes.
std::vector<std::uint64_t> SizeList(std::uint64_t begin, std::uint64_t end,
                                    std::optional<std::uint64_t> factor,
                                    std::optional<std::uint64_t> increment);

}  // namespace hockney
