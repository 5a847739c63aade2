#include "tuner/training/ddp_buckets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace hockney {
namespace {

constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max();

struct CapUnit {
  std::string_view name;
  double bytes;
};
// In upper case, as they are compared. MiB where none is given.
constexpr CapUnit kCapUnits[] = {
    {"", 1 << 20}, {"MIB", 1 << 20}, {"B", 1}, {"KIB", 1 << 10}, {"GIB", 1 << 30}};
// What some take as a power of 1000, as here, and some as one of 1024.
constexpr CapUnit kAmbiguousUnits[] = {{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
                                       {"K", 1e3},  {"M", 1e6},  {"G", 1e9}};

// The bucket of one type that is being filled, and its place among the caps.
struct OpenBucket {
  DataType type = DataType::kFloat32;
  std::size_t cap = 0;
  GradientBucket bucket;
};

void Append(GradientBucket& bucket, std::int64_t index, const ModelParameter& parameter) {
  bucket.parameters.push_back(index);
  bucket.elements += Elements(parameter);
  bucket.bytes += Bytes(parameter);
  bucket.type = parameter.type;
}

OpenBucket& OpenOfType(std::vector<OpenBucket>& open, DataType type) {
  const auto found = std::find_if(open.begin(), open.end(),
                                  [&](const OpenBucket& other) { return other.type == type; });
  return found != open.end() ? *found : open.emplace_back(OpenBucket{type, 0, {}});
}

std::vector<GradientBucket> FillBuckets(std::span<const ModelParameter> parameters,
                                        std::span<const std::int64_t> order,
                                        std::span<const std::int64_t> caps,
                                        const std::vector<bool>& sparse) {
  std::vector<GradientBucket> buckets;
  std::vector<OpenBucket> open;  // in the order in which the types appear
  for (const std::int64_t index : order) {
    const ModelParameter& parameter = parameters[index];
    if (!sparse.empty() && sparse[index]) {
      Append(buckets.emplace_back(), index, parameter);
      continue;
    }
    OpenBucket& filling = OpenOfType(open, parameter.type);
    Append(filling.bucket, index, parameter);
    if (filling.bucket.bytes >= caps[filling.cap]) {
      buckets.push_back(std::exchange(filling.bucket, {}));
      filling.cap = std::min(filling.cap + 1, caps.size() - 1);
    }
  }
  for (auto left = open.rbegin(); left != open.rend(); ++left) {
    if (!left->bucket.parameters.empty()) buckets.push_back(std::move(left->bucket));
  }
  return buckets;
}

std::vector<std::int64_t> CapsOf(const BucketRules& rules) {
  if (!rules.caps_bytes.empty()) return rules.caps_bytes;
  if (rules.mode == BucketMode::kFirstIteration) return {kNoCap};
  if (!rules.cap_bytes) return {rules.first_cap_bytes, kDefaultBucketCap};
  if (rules.older_first_cap) return {rules.first_cap_bytes, *rules.cap_bytes};
  return {*rules.cap_bytes};
}

std::vector<std::int64_t> Registration(std::size_t parameters) {
  std::vector<std::int64_t> order(parameters);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void CheckOrder(std::span<const std::int64_t> order, std::size_t parameters) {
  std::vector<bool> seen(parameters, false);
  for (const std::int64_t index : order) {
    if (index < 0 || index >= static_cast<std::int64_t>(parameters) || seen[index]) {
      throw std::invalid_argument(fmt::format(
          "parameter {} in the ready order, expected each of the {} once", index, parameters));
    }
    seen[index] = true;
  }
  if (order.size() != parameters) {
    throw std::invalid_argument(
        fmt::format("a ready order of {} parameters, expected all {}", order.size(), parameters));
  }
}

[[noreturn]] void RefuseCap(std::string_view text, const std::string& expected) {
  throw std::invalid_argument(fmt::format("\"{}\": expected {}", text, expected));
}

}  // namespace

std::vector<GradientBucket> MakeBuckets(std::span<const ModelParameter> parameters,
                                        const BucketRules& rules) {
  if (parameters.empty()) {
    throw std::invalid_argument("no trainable parameters, expected at least one to reduce");
  }
  if (!rules.sparse.empty() && rules.sparse.size() != parameters.size()) {
    throw std::invalid_argument(fmt::format("{} sparse flags, expected one for each of {} tensors",
                                            rules.sparse.size(), parameters.size()));
  }
  const std::vector<std::int64_t> caps = CapsOf(rules);
  for (const std::int64_t cap : caps) {
    if (cap < 0) throw std::invalid_argument(fmt::format("cap of {} bytes, expected 0 up", cap));
  }
  if (rules.mode != BucketMode::kRebuilt) {
    std::vector<GradientBucket> buckets =
        FillBuckets(parameters, Registration(parameters.size()), caps, rules.sparse);
    // The first parameter of a bucket is its smallest: sorted so and reversed.
    std::sort(buckets.begin(), buckets.end(), [](const GradientBucket& a, const GradientBucket& b) {
      return a.parameters.front() > b.parameters.front();
    });
    return buckets;
  }
  std::vector<std::int64_t> order = rules.ready_order;
  if (order.empty()) {
    order = Registration(parameters.size());
    std::reverse(order.begin(), order.end());
  }
  CheckOrder(order, parameters.size());
  return FillBuckets(parameters, order, caps, rules.sparse);
}

std::vector<BucketTimes> TimesOfBuckets(std::span<const GradientBucket> buckets,
                                        std::span<const double> ready) {
  std::vector<BucketTimes> times;
  times.reserve(buckets.size());
  for (const GradientBucket& bucket : buckets) {
    BucketTimes& time = times.emplace_back();
    for (const std::int64_t parameter : bucket.parameters) {
      if (parameter >= static_cast<std::int64_t>(ready.size())) {
        throw std::invalid_argument(
            fmt::format("{} ready times, expected one for parameter {}", ready.size(), parameter));
      }
      time.ready = std::max(time.ready, ready[parameter]);
    }
    const double before = times.size() > 1 ? times[times.size() - 2].launch : 0;
    time.launch = std::max(time.ready, before);
  }
  return times;
}

std::vector<std::int64_t> GradientsBeforeLaunch(std::span<const GradientBucket> buckets,
                                                std::span<const std::int64_t> ready_order) {
  CheckOrder(ready_order, ready_order.size());
  std::vector<double> ready(ready_order.size());
  for (std::size_t i = 0; i < ready_order.size(); ++i) {
    ready[ready_order[i]] = static_cast<double>(i + 1);
  }
  std::vector<std::int64_t> gradients;
  for (const BucketTimes& time : TimesOfBuckets(buckets, ready)) {
    gradients.push_back(static_cast<std::int64_t>(time.launch));
  }
  return gradients;
}

std::string WhyNoOverlap(std::span<const GradientBucket> buckets) {
  if (buckets.size() != 1) return "";
  const GradientBucket& bucket = buckets.front();
  const std::size_t tensors = bucket.parameters.size();
  return fmt::format(
      "no overlap possible: one bucket of {} bytes holds every gradient and is complete only when "
      "the backward pass ends{}",
      bucket.bytes,
      tensors == 1 ? "; its one tensor is never split" : "; a smaller cap gives more buckets");
}

std::int64_t ParseBucketCap(std::string_view text) {
  constexpr char kExpected[] =
      "a size above 0 in MiB, or with its unit B, KiB, MiB or GiB, for example 25, 25MiB or "
      "26214400B";
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value <= 0) RefuseCap(text, kExpected);
  const std::string_view number = text.substr(0, static_cast<std::size_t>(stop - text.data()));
  std::string unit(stop, end);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto is_unit = [&](const CapUnit& other) { return other.name == unit; };
  const auto* const ambiguous =
      std::find_if(std::begin(kAmbiguousUnits), std::end(kAmbiguousUnits), is_unit);
  if (ambiguous != std::end(kAmbiguousUnits)) {
    RefuseCap(text, fmt::format("{0}{1}iB (powers of 1024, what PyTorch calls {1}B) or {2:.0f}B",
                                number, unit.front(), value * ambiguous->bytes));
  }
  const auto* const known = std::find_if(std::begin(kCapUnits), std::end(kCapUnits), is_unit);
  if (known == std::end(kCapUnits)) RefuseCap(text, kExpected);
  const double bytes = std::floor(value * known->bytes);
  return bytes < static_cast<double>(kNoCap) ? static_cast<std::int64_t>(bytes) : kNoCap;
}

}  // namespace hockney
