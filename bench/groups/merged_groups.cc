#include "bench/groups/merged_groups.h"

#include <optional>
#include <utility>
#include <vector>

namespace hockney {
namespace {

bool IsWorse(const SweepRow& a, const SweepRow& b) {
  const bool fails = a.status != Status::kOk;
  if (fails != (b.status != Status::kOk)) return fails;
  return !fails && a.time_us_median.value_or(0) > b.time_us_median.value_or(0);
}

std::optional<std::uint64_t> Sum(const std::optional<std::uint64_t>& a,
                                 const std::optional<std::uint64_t>& b) {
  if (!a || !b) return a ? a : b;
  return *a + *b;
}

}  // namespace

void MergedGroups::Add(const Competitor& group) {
  const std::optional<std::uint64_t> errors = Sum(all_.row.errors, group.row.errors);
  // Of one call, since groups may have unlike numbers of samples.
  std::vector<double> rank_us = std::move(all_.rank_us);
  for (const double sum : group.rank_us) {
    rank_us.push_back(sum / static_cast<double>(group.times_us.size()));
  }
  if (count_ == 0 || IsWorse(group.row, all_.row)) {
    all_.row = group.row;
    all_.call_us = group.call_us;
    all_.times_us.assign(group.times_us.empty() ? 0 : 1, group.row.time_us_mean.value_or(0));
  }
  all_.row.errors = errors;
  all_.rank_us = std::move(rank_us);
  ++count_;
}

}  // namespace hockney
