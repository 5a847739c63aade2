#include "tuner/import/imported_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "topology/input_file.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

[[noreturn]] void Fail(const ImportedTable& table, std::size_t line, std::string_view message) {
  FailInput(table.file, {.line = line}, message);
}

// What only one row of a series has, besides its size.
auto KindOf(const SweepRow& row) {
  return std::tuple(FindParameter(row, "test"), row.dtype, row.op, row.root, row.in_place);
}
using Key = std::pair<decltype(KindOf(SweepRow())), std::uint64_t>;

// Where the rows of the table start again, as indices; the first is 0.
std::vector<std::size_t> FindStarts(const ImportedTable& table) {
  std::vector<std::size_t> starts = {0};
  std::set<Key> seen;
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::optional<Key> before;
  // A size that is repeated on its own is a series of one size each time.
  const bool one_size = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return row.row.size_bytes == table.rows[0].row.size_bytes;
  });
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const ImportedRow& each = table.rows[i];
    const Key key{KindOf(each.row), each.row.size_bytes};
    // Sizes under one element all become 0, and each is a row.
    const bool again = key.second > 0 && seen.contains(key);
    // The other placement of the same line stands between two rows of a kind.
    const bool back = before && before->first == key.first && key.second < before->second;
    if (again || back) {
      const bool beside = before && key.second == before->second && !one_size;
      if (key.second > smallest || beside) {
        Fail(
            table, each.line,
            fmt::format("a row of {} bytes where its size was already or larger ones: two runs are "
                        "mixed, expected one behind the other",
                        key.second));
      }
      starts.push_back(i);
      seen.clear();
      smallest = std::numeric_limits<std::uint64_t>::max();
    }
    seen.insert(key);
    smallest = std::min(smallest, key.second);
    if (!each.row.in_place.value_or(false)) before = key;
  }
  return starts;
}

// Numbers that follow from others; the logs' own rates are of their mean times.
void FillRates(SweepRow& row) {
  const auto time = row.time_us_mean ? row.time_us_mean : row.time_us_median;
  if (!time || row.collective == Collective::kBarrier) return;
  row.algbw_GBps = RateGBps(row.size_bytes, *time);
  const auto factor = BusFactor(row.collective, static_cast<int>(row.ranks));
  if (factor) row.busbw_GBps = *row.algbw_GBps * *factor;
}

// The size as nccl-tests means it.
std::uint64_t SizeOf(const ImportedTable& table, const ImportedRow& row, Collective collective) {
  const std::uint64_t size = row.row.size_bytes;
  if (table.size_meaning == SizeMeaning::kAllBlocks || collective == Collective::kReduceScatter) {
    return size;
  }
  try {
    return SizeBytes(collective, size, DataType::kInt8, *table.ranks);
  } catch (const std::overflow_error& error) {
    Fail(table, row.line, error.what());
  }
}

std::string ParametersOf(const ImportedTable& table, const SweepRow& row) {
  std::vector<std::string> all = table.parameters;
  if (!table.library.empty()) all.push_back("library=" + table.library);
  for (std::size_t at = 0; at < row.parameters.size();) {
    const std::size_t end = std::min(row.parameters.find(';', at), row.parameters.size());
    all.push_back(row.parameters.substr(at, end - at));
    at = end + 1;
  }
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, ";"));
}

// Fills in what holds for the whole table.
void SettleRest(ImportedTable& table, const ImportAnswers& answers) {
  if (table.library.empty()) {
    table.library = answers.library;
  } else if (!answers.library.empty() && answers.library != table.library) {
    table.notes.push_back(fmt::format("{}:{}: --library {} is not used: the log says {}",
                                      table.file, table.line, answers.library, table.library));
  }
  if (table.library.empty() && table.needs_library) {
    Fail(table, table.line,
         "the log does not say which library ran: expected --library NAME, as \"Open MPI 4.1.4\"");
  }
  if (answers.nodes) table.nodes = answers.nodes;
  if (!table.says_size) {
    if (!answers.size_bytes) {
      Fail(table, table.line, "the log does not say the size of a message: expected --size BYTES");
    }
    for (ImportedRow& row : table.rows) row.row.size_bytes = *answers.size_bytes;
    table.says_size = true;
  }
}

}  // namespace

std::vector<ImportedTable> SplitSeries(ImportedTable table) {
  const std::vector<std::size_t> starts = FindStarts(table);
  if (starts.size() == 1) return {std::move(table)};
  std::vector<ImportedTable> parts;
  parts.reserve(starts.size());
  const std::vector<ImportedRow> rows = std::exchange(table.rows, {});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ImportedTable& part = parts.emplace_back(table);
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : rows.size();
    part.rows.assign(rows.begin() + static_cast<std::ptrdiff_t>(starts[i]),
                     rows.begin() + static_cast<std::ptrdiff_t>(end));
    std::set<std::size_t> lines;
    for (const ImportedRow& row : part.rows) lines.insert(row.line);
    part.lines = lines.size();
    if (i == 0) continue;
    part.line = part.rows[0].line;
    part.notes = {fmt::format("{}:{}: the sizes start again here: taken for another run", part.file,
                              part.line)};
  }
  return parts;
}

std::vector<SweepRow> CompleteRows(ImportedTable& table, const ImportAnswers& answers) {
  Settle(table, answers);
  SettleRest(table, answers);
  const Collective collective = table.collectives[0];
  std::vector<SweepRow> rows;
  rows.reserve(table.rows.size());
  bool other_type = false;
  for (const ImportedRow& each : table.rows) {
    SweepRow& row = rows.emplace_back(each.row);
    row.collective = collective;
    row.implementation = table.implementation;
    if (row.implementation == "nccl" && !answers.nccl_algorithm.empty()) {
      row.algorithm = row.requested_algorithm = answers.nccl_algorithm;
      row.protocol = answers.nccl_protocol;
    }
    row.parameters = ParametersOf(table, each.row);
    row.ranks = *table.ranks;
    row.nodes = table.nodes;
    row.size_bytes = SizeOf(table, each, collective);
    if (row.dtype && answers.dtype.value_or(*row.dtype) != *row.dtype) other_type = true;
    if (collective == Collective::kBarrier) {
      row.dtype.reset();
    } else if (!row.dtype) {
      row.dtype = answers.dtype;
      if (!row.dtype) {
        Fail(table, each.line, "the log does not say the type of the data: expected --dtype TYPE");
      }
    }
    if (!Reduces(collective)) row.op.reset();
    if (!HasRoot(collective)) row.root.reset();
    if (!row.count && row.dtype) {
      row.count = CountForSize(collective, row.size_bytes, *row.dtype, *table.ranks);
    }
    FillRates(row);
  }
  if (other_type) {
    table.notes.push_back(fmt::format("{}:{}: --dtype {} is not used: the log says the type",
                                      table.file, table.line, Name(*answers.dtype)));
  }
  return rows;
}

}  // namespace hockney
