#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hockney {

// What nccl-tests reads from the environment and we have a meaning for.
struct NcclTestsEnvironment {
  // NCCL_TESTS_MIN_BW: the run fails if the average bus bandwidth is below 0.9 of it. GB = 1e9.
  std::optional<double> minimum_busbw_GBps = {};
  // NCCL_TESTS_SPLIT, else NCCL_TESTS_SPLIT_MASK, as --split says it; empty for one group.
  std::string split = {};
};

// Reads the entries NAME=value. Throws UsageError naming the variable for a NCCL_TESTS_MIN_BW that
// is no number >= 0, for a NCCL_TESTS_SPLIT that is none (SplitOfNcclTests) and a
// NCCL_TESTS_SPLIT_MASK that is no hexadecimal number, and for NCCL_TESTS_DEVICE and
// NCCL_TESTS_ALLTOALLV_*, which would change what is measured and are not supported.
NcclTestsEnvironment ReadNcclTestsEnvironment(std::span<const std::string> entries);

// The entries NAME=value of this process.
std::vector<std::string> ProcessEnvironment();

}  // namespace hockney
