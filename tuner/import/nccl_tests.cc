#include "tuner/import/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace hockney {
namespace {

void Note(ImportedTable& table, std::string_view text) {
  table.notes.push_back(fmt::format("{}:{}: {}", table.file, table.line, text));
}

void AddSide(ImportedTable& table, const ImportedRow& base, const NcclTestsSide& side,
             bool in_place, bool counts_errors) {
  if (!side.time_us && !side.algbw) return;
  ImportedRow& each = table.rows.emplace_back(base);
  SweepRow& row = each.row;
  each.algbw = side.algbw;
  each.busbw = side.busbw;
  row.in_place = in_place;
  auto time = side.time_us;
  const bool has_rate = side.algbw && side.algbw->value > 0;
  if (!time && has_rate) time = static_cast<double>(row.size_bytes) / side.algbw->value / 1e3;
  row.time_us_mean = row.time_us_median = time;
  if (!time || *time <= 0) {
    row.status = Status::kFailed;
    row.reason = "no time in the log";
    row.time_us_mean = row.time_us_median = std::nullopt;
  }
  if (counts_errors && side.wrong) {
    row.errors = static_cast<std::uint64_t>(std::llround(*side.wrong));
  }
  if (row.errors.value_or(0) > 0 || side.marked_wrong) {
    row.status = Status::kWrongData;
    row.reason = "wrong elements in the log";
  }
}

void CheckAverage(ImportedTable& table) {
  if (!table.average_busbw) {
    Note(table, "no average at the table's end: it may have been cut");
    return;
  }
  double sum = 0;
  double rounding = 0;
  std::size_t count = 0;
  for (const ImportedRow& row : table.rows) {
    if (!row.busbw) continue;
    sum += row.busbw->value;
    rounding += row.busbw->half_unit;
    ++count;
  }
  if (count == 0) return;
  const double mean = sum / static_cast<double>(count);
  const double slack = rounding / static_cast<double>(count) + 1e-5 * *table.average_busbw;
  if (std::fabs(mean - *table.average_busbw) <= slack) return;
  Note(table, fmt::format("the rows' mean bus bandwidth is {:.4f}, the log's average {:g} GB/s: "
                          "rows were left out or changed",
                          mean, *table.average_busbw));
}

void CountDevices(ImportedTable& table, const NcclTestsFacts& facts) {
  if (facts.devices.empty()) return;
  std::set<std::int64_t> ranks;
  std::set<std::string> hosts;
  std::int64_t last_group = 0;
  for (const NcclTestsDevice& device : facts.devices) {
    last_group = std::max(last_group, device.group);
    if (device.group != 0) continue;
    ranks.insert(device.rank);
    hosts.insert(device.host);
  }
  table.ranks = static_cast<int>(ranks.size());
  table.ranks_from = "device lines";
  table.nodes = static_cast<int>(hosts.size());
  if (last_group == 0) return;
  for (ImportedRow& row : table.rows) row.row.groups = "SPLIT/0";
  Note(table,
       fmt::format("{} groups ran at once; ranks and nodes are those of group 0", last_group + 1));
}

// Whose times these are. hockney's table may hold the fastest of several in each row.
std::string ImplementationOf(const NcclTestsFacts& facts) {
  if (!facts.is_hockney) return "nccl";
  const auto is_mpi = [](const std::string& choice) { return choice.starts_with("mpi"); };
  const auto count = std::count_if(facts.choices.begin(), facts.choices.end(), is_mpi);
  if (count == 0) return "hockney";
  return count == static_cast<std::ptrdiff_t>(facts.choices.size()) ? "mpi" : "fastest";
}

}  // namespace

std::optional<Collective> CollectiveOfTest(std::string_view program) {
  constexpr std::string_view kEnd = "_perf";
  const std::size_t end = program.rfind(kEnd);
  if (end != program.npos) program = program.substr(0, end);
  const std::size_t begin = program.find_last_of("/ \t\"'`");
  if (begin != program.npos) program.remove_prefix(begin + 1);
  return ParseCollective(program);
}

std::string NcclVersionText(std::uint64_t code) {
  // Since 2.9 the number has two digits for each part behind the first; before, one for the second.
  const bool is_new = code >= 10000;
  const std::uint64_t major = code / (is_new ? 10000 : 1000);
  const std::uint64_t minor = code / 100 % (is_new ? 100 : 10);
  return fmt::format("NCCL {}.{}.{}", major, minor, code % 100);
}

std::vector<Collective> PossibleCollectives(const NcclTestsShape& shape) {
  std::vector<Collective> possible;
  for (const Collective each : kAllCollectives) {
    const bool moves = each == Collective::kAllToAll || each == Collective::kSendRecv;
    if (each == Collective::kBarrier || each == Collective::kAllToAllV) continue;
    if (HasRoot(each) != shape.any_root) continue;
    // sendrecv prints an operator that it does not use.
    if (shape.any_op && !Reduces(each) && each != Collective::kSendRecv) continue;
    if ((shape.any_none || !shape.has_redop) && Reduces(each)) continue;
    // Before 2.11 alltoall and sendrecv left the column blank, and all_gather had none.
    if (shape.any_blank_op && !moves) continue;
    if (!shape.has_redop && !shape.has_root && moves) continue;
    if (shape.counts_errors && shape.in_place_checked && moves) continue;
    if (shape.counts_errors && shape.only_out_checked && !moves) continue;
    possible.push_back(each);
  }
  return possible;
}

void AddNcclTestsRow(ImportedTable& table, const ImportedRow& base, const NcclTestsSide& apart,
                     const NcclTestsSide& in_place, NcclTestsShape& shape) {
  if (!apart.time_us && !apart.algbw && !in_place.time_us && !in_place.algbw) {
    table.notes.push_back(
        fmt::format("{}:{}: a row without times was left out", table.file, base.line));
    return;
  }
  AddSide(table, base, apart, false, shape.counts_errors);
  AddSide(table, base, in_place, true, shape.counts_errors);
  ++table.lines;
  if (in_place.time_us && in_place.wrong) shape.in_place_checked = true;
  if (in_place.time_us && !in_place.wrong && apart.wrong) shape.only_out_checked = true;
}

void FinishNcclTestsTable(ImportedTable& table, const NcclTestsFacts& facts,
                          const NcclTestsShape& shape) {
  table.format = facts.is_rccl ? "rccl-tests" : "nccl-tests";
  table.version = facts.version;
  table.benchmark = facts.program;
  const auto said = CollectiveOfTest(facts.program);
  if (said) {
    table.collectives = {*said};
  } else if (facts.program.find("_perf") != facts.program.npos) {
    table.unknown = fmt::format("{}: no collective that hockney knows", facts.program);
  } else {
    table.collectives = PossibleCollectives(shape);
  }
  table.hints = facts.hints;
  table.implementation = ImplementationOf(facts);
  table.needs_library = table.implementation == "mpi";
  table.library = facts.library;
  if (table.library.empty() && facts.is_rccl) table.library = "RCCL";
  table.iterations = facts.iterations;
  const bool reports_median = facts.is_hockney && !facts.program.ends_with("_perf");
  if (!reports_median) table.parameters.emplace_back("statistic=mean");
  for (ImportedRow& each : table.rows) {
    SweepRow& row = each.row;
    row.samples = facts.iterations.value_or(row.samples);
    if (!reports_median) row.mode = "streamed";
    if (reports_median) row.time_us_mean.reset();
    row.memory_kind = facts.is_hockney ? "host" : "cuda";
    row.graph = facts.graph;
    if (!facts.is_hockney || table.implementation == "mpi") {
      row.algorithm = row.requested_algorithm = "default";
    }
  }
  CountDevices(table, facts);
  CheckAverage(table);
  if (!shape.counts_errors) {
    Note(table, "its error column is the largest difference, not a count: errors stay empty");
  }
}

}  // namespace hockney
