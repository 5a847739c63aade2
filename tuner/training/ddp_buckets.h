#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/training/model_description.h"

namespace hockney {

// How PyTorch's DistributedDataParallel puts gradients into buckets, each of which is one
// all-reduce. Source: pytorch/pytorch torch/csrc/distributed/c10d/reducer.cpp and
// torch/nn/parallel/distributed.py.

inline constexpr std::int64_t kDefaultBucketCap = std::int64_t{25} << 20;      // bytes
inline constexpr std::int64_t kDefaultFirstBucketCap = std::int64_t{1} << 20;  // bytes

enum class BucketMode : std::uint8_t {
  kFirstIteration,  // one bucket a type: nothing overlaps
  kRebuilt,         // from the second iteration on: in the order in which gradients become ready
  kFindUnused,      // find_unused_parameters without static_graph: never rebuilt
};

struct BucketRules {
  BucketMode mode = BucketMode::kRebuilt;
  // What the user gave as bucket_cap_mb, in bytes; 0 gives every tensor a bucket of its own.
  // Nothing: kDefaultBucketCap, after a first bucket of first_cap_bytes.
  std::optional<std::int64_t> cap_bytes;
  std::int64_t first_cap_bytes = kDefaultFirstBucketCap;
  // Releases before pull request 121640 kept the small first bucket beside a cap of the user's.
  bool older_first_cap = false;
  // One cap a bucket, the last for all that follow, in place of all above, in the first iteration
  // too (bucket_cap_mb_list, pull request 169026). Empty: none.
  std::vector<std::int64_t> caps_bytes;
  // kRebuilt only: parameters in the order in which rank 0 got their gradients. Empty: the reverse
  // of registration, as of a plain stack of layers.
  std::vector<std::int64_t> ready_order;
  std::vector<bool> sparse;  // by parameter; empty: none. Each sparse gradient has its own bucket.
};

struct GradientBucket {
  std::vector<std::int64_t> parameters;  // indices, in the order of the bucket's memory
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  DataType type = DataType::kFloat32;
};

// Returns the buckets in the order in which their all-reduces are launched; every parameter is in
// exactly one. Each type fills its own sequence of buckets: a tensor is appended, then the bucket
// closes if it holds its cap, so that buckets overshoot and tensors are never split.
// Order: rebuilt buckets as they close, then what is left open, the type that appeared last first
// (PyTorch walks a hash map there: so with the GNU library and two types; with more it is not
// promised). In the other modes buckets are filled in order of registration, sorted by their first
// parameter, and the list is reversed: the small first bucket is then launched last.
// Throws std::invalid_argument for no parameters, a negative cap, a ready_order that is no
// permutation of the parameters, and flags of another number.
std::vector<GradientBucket> MakeBuckets(std::span<const ModelParameter> parameters,
                                        const BucketRules& rules);

// When a bucket holds all its gradients, and when its all-reduce may be launched: not before those
// of all buckets ahead of it.
struct BucketTimes {
  double ready = 0;
  double launch = 0;
};

// Returns the times of the buckets, in the unit of `ready`, which says by parameter when its
// gradient is there. Throws std::invalid_argument for a parameter without a time.
std::vector<BucketTimes> TimesOfBuckets(std::span<const GradientBucket> buckets,
                                        std::span<const double> ready);

// The same in gradients: how many must have become ready, in this order, before each bucket is
// launched. Throws std::invalid_argument if the order lacks or repeats a parameter.
std::vector<std::int64_t> GradientsBeforeLaunch(std::span<const GradientBucket> buckets,
                                                std::span<const std::int64_t> ready_order);

// Returns why communication cannot overlap the backward pass, or "" if it can.
std::string WhyNoOverlap(std::span<const GradientBucket> buckets);

// Returns bytes from a size above 0 in MiB, as in PyTorch's bucket_cap_mb: "25", "0.5", "5e8"; or
// with its unit, B, KiB, MiB or GiB: "25MiB", "1048576B". Fractions of a byte are cut off, as
// PyTorch does, so "1e-9" is 0: one tensor a bucket. What 64 bits cannot hold is the largest cap.
// Throws std::invalid_argument `"<text>": expected ...` for anything else, such as 0, -1, nan, inf,
// and MB, which is 10^6 bytes or, as PyTorch has it, 2^20.
std::int64_t ParseBucketCap(std::string_view text);

}  // namespace hockney
