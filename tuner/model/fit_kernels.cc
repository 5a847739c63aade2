#include "tuner/model/fit_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool IsAlike(const KernelModel& model, const KernelRow& row) {
  return model.kernel == row.kernel && model.dtype == *row.dtype &&
         model.size_class == row.size_class && model.store == row.store;
}

// Half of the row's interval over its median.
double SpreadOf(const KernelRow& row) {
  if (!row.time_us_ci_low || !row.time_us_ci_high) return kUnknown;
  return (*row.time_us_ci_high - *row.time_us_ci_low) / 2 / row.time_us_median;
}

// The median over the rows of `ranks` at once of what `value` says; nothing if there are none.
template <class Value>
std::optional<Measured> Combine(std::span<const KernelRow* const> rows, std::int64_t ranks,
                                const Value& value) {
  std::vector<double> values;
  Measured figure{.spread = kUnknown};
  for (const KernelRow* row : rows) {
    if (row->ranks_at_once != ranks) continue;
    values.push_back(value(*row));
    figure.spread = std::fmax(figure.spread, SpreadOf(*row));
  }
  if (values.empty()) return std::nullopt;
  figure.value = Median(values);
  figure.points = values.size();
  if (values.size() > 1) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    figure.spread = std::fmax(figure.spread, (*most - *least) / 2 / figure.value);
  }
  return figure;
}

KernelModel FitOne(KernelModel model, std::span<const KernelRow* const> rows) {
  model.seconds_per_byte = Combine(rows, 1, [](const KernelRow& row) {
    return row.time_us_median / 1e6 / static_cast<double>(row.size_bytes);
  });
  for (const KernelRow* row : rows)
    model.node_ranks = std::max(model.node_ranks, row->ranks_at_once);
  model.node_GBps =
      Combine(rows, model.node_ranks, [](const KernelRow& row) { return row.rate_GBps; });
  return model;
}

// Memory may make a sum no slower than a copy; what it adds is then nothing.
Measured Extra(const Measured& sum, const Measured& copy) {
  Measured extra{.value = std::max(0.0, sum.value - copy.value),
                 .points = std::min(sum.points, copy.points),
                 .spread = kUnknown};
  if (extra.value > 0) {
    extra.spread = std::hypot(sum.spread * sum.value, copy.spread * copy.value) / extra.value;
  }
  return extra;
}

void AddGammas(std::vector<KernelModel>& models) {
  for (KernelModel& sum : models) {
    if (sum.kernel == "copy" || !sum.seconds_per_byte) continue;
    const auto copy = std::find_if(models.begin(), models.end(), [&](const KernelModel& each) {
      return each.kernel == "copy" && each.size_class == sum.size_class && each.store == sum.store;
    });
    if (copy == models.end() || !copy->seconds_per_byte) continue;
    sum.gamma_seconds_per_byte = Extra(*sum.seconds_per_byte, *copy->seconds_per_byte);
  }
}

}  // namespace

std::vector<KernelModel> FitKernels(std::span<const KernelRow> rows,
                                    std::vector<std::string>& refused) {
  std::vector<KernelModel> models;
  std::vector<std::vector<const KernelRow*>> rows_of_model;
  for (const KernelRow& row : rows) {
    const std::string what = fmt::format("kernel {} {}", row.kernel, row.size_class);
    if (!row.dtype) {
      refused.push_back(what + ": no dtype");
      continue;
    }
    const bool positive =
        row.time_us_median > 0 && row.size_bytes > 0 && row.rate_GBps > 0 && row.ranks_at_once > 0;
    if (!positive) {
      refused.push_back(
          fmt::format("{} {}: a time, size or rate that is not positive", what, Name(*row.dtype)));
      continue;
    }
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const KernelModel& each) { return IsAlike(each, row); });
    const auto index = static_cast<std::size_t>(found - models.begin());
    if (found == models.end()) {
      models.push_back({.kernel = row.kernel,
                        .dtype = *row.dtype,
                        .size_class = row.size_class,
                        .store = row.store});
      rows_of_model.emplace_back();
    }
    rows_of_model[index].push_back(&row);
  }
  for (std::size_t i = 0; i < models.size(); ++i) models[i] = FitOne(models[i], rows_of_model[i]);
  AddGammas(models);
  return models;
}

}  // namespace hockney
