#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/records/table.h"

namespace hockney {

// One row of links.csv: messages of one size between ranks of one level. Where several pairs run at
// once the first one is named. Members are named as the columns.
struct LinkRow {
  std::string level = {};  // cache, numa, node, rack, pod, fabric
  std::int64_t rank_a = 0;
  std::int64_t rank_b = 0;
  std::string host_a = {};
  std::string host_b = {};
  std::uint64_t size_bytes = 0;
  std::int64_t pairs = 1;     // at once
  bool duplex = false;        // both directions at once
  double time_us_median = 0;  // from the sender's start to the receiver's end, of one message
  std::optional<double> time_us_ci_low = {};
  std::optional<double> time_us_ci_high = {};

  static std::span<const Column<LinkRow>> Columns();
  bool operator==(const LinkRow&) const = default;
};

// Reads links.csv; `path` is the file or its run folder. See ReadTable for notes and errors.
std::vector<LinkRow> ReadLinks(const std::string& path, std::vector<std::string>* notes = nullptr);

}  // namespace hockney
