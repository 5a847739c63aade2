#include "tuner/import/link_rows.h"

#include "tuner/import/readers.h"

namespace hockney {

std::vector<LinkRow> LinkRowsOf(std::span<const SweepRow> rows) {
  std::vector<LinkRow> links;
  links.reserve(rows.size());
  for (const SweepRow& row : rows) {
    const bool ping_pong = row.collective == Collective::kSendRecv && row.mode == kPingPong &&
                           !FindParameter(row, "test").empty();
    if (!ping_pong || !row.nodes || row.status != Status::kOk || !row.time_us_median) continue;
    LinkRow& link = links.emplace_back();
    link.level = *row.nodes == 1 ? "node" : "fabric";
    link.rank_b = row.ranks / 2;  // the first pair's, as the tests of pairs number them
    link.pairs = row.ranks / 2;
    link.size_bytes = row.size_bytes;
    link.time_us_median = *row.time_us_median;
  }
  return links;
}

}  // namespace hockney
