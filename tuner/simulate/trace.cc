#include "tuner/simulate/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hockney {
namespace {

const char* NameOf(SimCause cause) {
  switch (cause) {
    case SimCause::kStart:
      return "start";
    case SimCause::kOwnLane:
      return "own lane";
    case SimCause::kMessage:
      return "message";
    case SimCause::kCredit:
      return "credit";
    case SimCause::kToken:
      return "token";
  }
  return "start";
}

}  // namespace

std::string ChromeTrace(std::span<const SliceRecord> records,
                        std::span<const Simulation::LaneName> lanes) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  for (const SliceRecord& record : records) {
    const Simulation::LaneName& name = lanes[record.lane];
    events.push_back({{"name", "step " + std::to_string(record.step)},
                      {"ph", "X"},
                      {"pid", name.rank},
                      {"tid", name.lane},
                      {"ts", record.begin_seconds * 1e6},
                      {"dur", (record.end_seconds - record.begin_seconds) * 1e6},
                      {"args", {{"slice", record.slice}, {"after", NameOf(record.cause)}}}});
  }
  for (const Simulation::LaneName& name : lanes) {
    if (name.lane != 0) continue;
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", name.rank},
                      {"args", {{"name", "rank " + std::to_string(name.rank)}}}});
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

std::vector<CriticalStep> CriticalPath(std::span<const SliceRecord> records) {
  std::vector<CriticalStep> path;
  if (records.empty()) return path;
  const auto last = std::max_element(
      records.begin(), records.end(),
      [](const SliceRecord& a, const SliceRecord& b) { return a.end_seconds < b.end_seconds; });
  auto at = static_cast<std::uint32_t>(last - records.begin());
  while (at != kNoRecord) {
    const SliceRecord& slice = records[at];
    const double before = slice.after == kNoRecord ? 0 : records[slice.after].end_seconds;
    path.push_back({slice, slice.begin_seconds - before});
    at = slice.after;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

PathShares SharesOf(std::span<const CriticalStep> path) {
  PathShares shares;
  for (const CriticalStep& step : path) {
    shares.work_seconds += step.slice.end_seconds - step.slice.begin_seconds;
    switch (step.slice.cause) {
      case SimCause::kMessage:
        shares.message_seconds += step.waited_seconds;
        break;
      case SimCause::kCredit:
        shares.credit_seconds += step.waited_seconds;
        break;
      case SimCause::kToken:
      case SimCause::kOwnLane:  // its token came before
      case SimCause::kStart:
        shares.token_seconds += step.waited_seconds;
        break;
    }
  }
  return shares;
}

}  // namespace hockney
