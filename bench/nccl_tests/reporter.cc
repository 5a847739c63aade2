#include "bench/nccl_tests/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "bench/groups/group_report.h"
#include "bench/groups/rank_groups.h"
#include "bench/nccl_tests/names.h"
#include "bench/sizes.h"
#include "bench/sweep_report.h"
#include "topology/text_files.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

std::vector<RankDevice> ReadDevices(const nlohmann::ordered_json& facts,
                                    const GroupMembers& groups) {
  std::vector<RankDevice> devices;
  std::vector<int> on_host(facts["hosts"].size(), 0);
  for (const auto& rank : facts["ranks"]) {
    const auto host = rank["host"].get<std::size_t>();
    const auto& machine = facts["hosts"][host];
    RankDevice device;
    device.rank = rank["rank"];
    device.pid = rank["pid"];
    device.host = machine["name"].is_string() ? machine["name"].get<std::string>() : "unknown";
    device.device = on_host[host]++;
    if (machine["cpu_model"].is_string()) device.cpu = machine["cpu_model"];
    devices.push_back(std::move(device));
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const int rank : groups[group]) devices[rank].group = static_cast<int>(group);
  }
  return devices;
}

}  // namespace

NcclTestsReporter::NcclTestsReporter(NcclTestsRun run, NcclTestsEnvironment environment,
                                     std::vector<std::string> arguments, TableTime time)
    : run_(std::move(run)),
      environment_(std::move(environment)),
      arguments_(std::move(arguments)),
      time_(time) {}

void NcclTestsReporter::Start(const nlohmann::ordered_json& facts) {
  groups_ = ReadGroups(facts);
  if (!groups_.empty()) fmt::print("# {}", DescribeGroups(facts));
  run_.devices = ReadDevices(facts, groups_);
  if (!run_.options.json_path.empty()) {
    json_.emplace(run_, JsonStart{.arguments = arguments_, .environment = ProcessEnvironment()});
    fmt::print("{}", json_->Note());
  }
  if (facts["oversubscribed"].get<bool>()) {
    fmt::print("# Ranks share cores: times say little about memory or a network\n");
  }
  fmt::print("{}", TableHeader(run_));
  std::fflush(stdout);
}

double NcclTestsReporter::TimeOf(const Competitor& competitor) const {
  const SweepRow& row = competitor.row;
  if (time_ == TableTime::kOfRow) {
    return (row.mode == "streamed" ? row.time_us_mean : row.time_us_median).value_or(0);
  }
  const auto& ranks = competitor.rank_us;
  double time = 0;
  switch (run_.options.average) {
    case RankAverage::kRank0:
      time = ranks[0];
      break;
    case RankAverage::kMean:
      time = std::accumulate(ranks.begin(), ranks.end(), 0.0) / static_cast<double>(ranks.size());
      break;
    case RankAverage::kLeast:
      time = *std::min_element(ranks.begin(), ranks.end());
      break;
    case RankAverage::kGreatest:
      time = *std::max_element(ranks.begin(), ranks.end());
      break;
  }
  return time / static_cast<double>(competitor.times_us.size());
}

std::optional<IterationTimes> NcclTestsReporter::IterationsOf(const Competitor& competitor) const {
  if (!run_.options.per_iteration || competitor.call_us.empty()) return std::nullopt;
  IterationTimes times{.skipped = run_.options.per_iteration_skip};
  const auto calls = static_cast<std::size_t>(run_.options.aggregated);
  for (std::size_t at = 0; at + calls <= competitor.call_us.size(); at += calls) {
    const auto* const first = competitor.call_us.data() + at;
    times.times_us.push_back(std::accumulate(first, first + calls, 0.0) /
                             static_cast<double>(calls));
  }
  return times;
}

// A row of several groups is one for the table.
void NcclTestsReporter::Add(const Cell& cell, const Competitor& competitor) {
  if (groups_.empty()) return AddWhole(cell, competitor);
  if (GroupNumber(competitor.row.groups) == 0) merged_ = MergedGroups();
  merged_.Add(competitor);
  if (merged_.count() == groups_.size()) AddWhole(cell, merged_.all());
}

void NcclTestsReporter::AddWhole(const Cell& cell, const Competitor& competitor) {
  const SweepRow& row = competitor.row;
  if (row.status == Status::kSkipped || row.status == Status::kFailed) {
    if (row.status == Status::kFailed) errors_.push_back(row.reason);
    if (row.status == Status::kSkipped) skipped_ = row.reason;
    return;
  }
  Best found;
  found.timed = !competitor.times_us.empty();
  if (found.timed) {
    found.side = MakeSide(run_, row.size_bytes, TimeOf(competitor));
    found.side.iterations = IterationsOf(competitor);
  }
  found.side.wrong = row.errors;
  found.choice = DescribeChoice(row);
  if (found.timed) found.slowest_group = GroupNumber(row.groups);
  std::optional<Best>& best = best_[cell.in_place ? 1 : 0];
  // Wrong data is shown whatever else was fast.
  const bool wrong = row.errors.value_or(0) > 0;
  const bool faster = best && best->side.wrong.value_or(0) == 0 && found.timed &&
                      (!best->timed || found.side.time_us < best->side.time_us);
  if (!best || wrong || faster) best = std::move(found);
}

void NcclTestsReporter::EndCell(const Cell& cell) {
  const bool pair_follows = !cell.in_place && HasInPlaceForm(cell.collective);
  if (!pair_follows) PrintRow(cell);
}

void NcclTestsReporter::PrintRow(const Cell& cell) {
  const auto best = std::exchange(best_[0], std::nullopt);
  const auto in_place = std::exchange(best_[1], std::nullopt);
  if (!best) return;  // interrupted, or nobody could
  TableRow row;
  row.count = cell.count;
  row.size_bytes = SizeBytes(cell.collective, cell.count, cell.type, cell.ranks);
  row.type = cell.type;
  row.op = cell.op;
  if (HasRoot(cell.collective)) row.root = cell.root;
  row.out_of_place = best->side;
  if (in_place) row.in_place = in_place->side;
  row.finished = std::chrono::system_clock::now();
  for (int place = 0; place < 2; ++place) {
    const auto& chosen = place == 0 ? best : in_place;
    if (chosen && chosen->timed && !groups_.empty()) ++times_slowest_[chosen->slowest_group];
    auto& stretches = stretches_[place];
    if (!chosen || (!stretches.empty() && stretches.back().choice == chosen->choice)) continue;
    stretches.push_back({row.size_bytes, chosen->choice});
  }
  fmt::print("{}", TableRowText(run_, row));
  std::fflush(stdout);
  any_row_ = true;
  totals_.Add(row);
  if (json_) json_->Add(row);
}

void NcclTestsReporter::PrintChoices() const {
  const NcclTestsOptions& asked = run_.options;
  // Several tables in one would mix up.
  if (asked.types.size() > 1 || asked.ops.size() > 1 || asked.root < 0 || asked.cycles != 1) return;
  constexpr const char* kPlaces[] = {"out-of-place", "in-place"};
  for (int place = 0; place < 2; ++place) {
    if (stretches_[place].empty()) continue;
    std::string text;
    for (const Stretch& stretch : stretches_[place]) {
      text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", stretch.choice,
                          FormatSize(stretch.first_bytes));
    }
    fmt::print("# {} by: {}\n", kPlaces[place], text);
  }
}

// In how many cells each group was the slowest.
void NcclTestsReporter::PrintSlowest() const {
  for (const auto& [group, times] : times_slowest_) {
    fmt::print("# slowest group: {} (ranks {}), {} times\n", group, FormatCpuList(groups_[group]),
               times);
  }
}

ExitCode NcclTestsReporter::Finish(std::span<const SweepRow> /*rows*/, bool finished) {
  if (!finished) errors_.emplace_back("interrupted; what stands above is all that was measured");
  if (!any_row_ && !skipped_.empty()) errors_.push_back("nothing was measured: " + skipped_);
  PrintChoices();
  PrintSlowest();
  const std::string error = errors_.empty() ? "" : errors_[0];
  fmt::print("{}", TableFooter(run_, totals_, environment_.minimum_busbw_GBps, error));
  std::fflush(stdout);
  if (json_) {
    json_->Finish(totals_, environment_.minimum_busbw_GBps, errors_,
                  std::chrono::system_clock::now());
  }
  if (totals_.out_of_bounds() > 0) return ExitCode::kWrongData;
  const bool below = BelowMinimum(totals_.average_busbw_GBps(), environment_.minimum_busbw_GBps);
  return below ? ExitCode::kRegression : ExitCode::kOk;
}

}  // namespace hockney
