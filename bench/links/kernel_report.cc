#include "bench/links/kernel_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "bench/text_table.h"

namespace hockney {
namespace {

template <class T>
void AddOnce(std::vector<T>& all, const T& value) {
  if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
}

std::string LabelOf(const KernelRow& row) {
  if (row.kernel == "copy" || !row.dtype) return row.kernel;
  return fmt::format("{} {}", row.kernel, Name(*row.dtype));
}

}  // namespace

std::string KernelsText(std::span<const KernelRow> rows) {
  if (rows.empty()) return "";
  using Place = std::pair<std::int64_t, std::string>;  // ranks, size class
  std::vector<Place> places;
  std::vector<std::string> labels;
  std::map<std::pair<std::string, Place>, double> rates;
  for (const KernelRow& row : rows) {
    const Place place{row.ranks_at_once, row.size_class};
    const std::string label = LabelOf(row);
    AddOnce(places, place);
    AddOnce(labels, label);
    double& best = rates[{label, place}];
    best = std::max(best, row.rate_GBps);
  }
  std::vector<std::vector<std::string>> table = {{"kernel"}};
  for (const auto& [ranks, name] : places) {
    table[0].push_back(ranks == 1 ? name : fmt::format("{} ranks {}", ranks, name));
  }
  for (const std::string& label : labels) {
    std::vector<std::string>& line = table.emplace_back();
    line.push_back(label);
    for (const Place& place : places) {
      const auto found = rates.find({label, place});
      line.push_back(found == rates.end() ? "-" : fmt::format("{:.2f}", found->second));
    }
  }
  return fmt::format(
      "\nkernels on {}, GB/s read and written, the better of both store policies\n{}", rows[0].host,
      FormatTable(table));
}

}  // namespace hockney
