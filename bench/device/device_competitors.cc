#include "bench/device/device_competitors.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "bench/device/nccl_rows.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/gather_json.h"

namespace hockney {
namespace {

// Calls below this are timed as graphs too: a launch of each would be what is measured.
constexpr std::int64_t kShortNs = 20'000;
constexpr int kGraphCalls = 10;
constexpr int kTrials = 3;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Whether NCCL has no call for it, or one that no NCCL_ALGO concerns.
bool IsByMessages(Collective collective) {
  switch (collective) {
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kSendRecv:
      return true;
    default:
      return false;
  }
}

Competitor MakeNccl(const SweepContext& context, NcclRow& nccl, const Cell& cell,
                    std::span<const BufferSet> sets) {
  Competitor competitor;
  SweepRow& row = competitor.row;
  row = StartRow(context, cell);
  row.implementation = "nccl";
  row.algorithm = nccl.choice.algorithm.empty() ? "default" : Lower(nccl.choice.algorithm);
  row.requested_algorithm = row.algorithm;
  row.protocol = Lower(nccl.choice.protocol);
  if (nccl.choice.channels > 0) row.lanes = nccl.choice.channels;
  row.parameters = "library=" + (nccl.version.empty() ? nccl.library : nccl.version);
  if (context.options->nccl_libraries.size() > 1) row.parameters += ";path=" + nccl.library;
  competitor.label = LabelOf(row);
  const Call call = MakeCall(cell, sets[0]);
  std::string reason = nccl.baseline == nullptr ? nccl.reason : nccl.baseline->WhyNot(call);
  if (reason.empty() && nccl.is_told() && IsByMessages(cell.collective)) {
    reason = "NCCL does this by sends and receives, which have no algorithm to choose";
  }
  if (!reason.empty()) {
    Skip(competitor, Status::kSkipped, reason);
    return competitor;
  }
  context.watchdog->SetActivity("the first call of NCCL");
  std::string mine;
  try {
    for (const BufferSet& set : sets) {
      auto on_device = nccl.baseline->Prepare(context.device->OnDevice(MakeCall(cell, set)));
      competitor.on_device.push_back(on_device.get());
      competitor.prepared.push_back(std::move(on_device));
    }
    // NCCL connects and allocates in the first call, which must not be while the queue is held.
    competitor.prepared[0]->Run();
  } catch (const std::exception& error) {
    mine = error.what();
  }
  const std::string failure = FirstReason(*context.session, mine);
  if (failure.empty()) return competitor;
  // It was told to do what it cannot; another call may do.
  Skip(competitor, Status::kSkipped, failure);
  nccl.Connect(*context.session, context.device->device());
  return competitor;
}

// Whether calls are short on every rank. Collective.
bool IsShort(const SweepContext& context, const Competitor& competitor) {
  std::int64_t best = TimeOnDevice(context, competitor);
  for (int i = 1; i < kTrials; ++i) best = std::min(best, TimeOnDevice(context, competitor));
  best /= static_cast<std::int64_t>(competitor.on_device.size());
  const auto all = GatherJson(*context.session, nlohmann::ordered_json(best));
  return std::all_of(all.begin(), all.end(), [](const auto& theirs) {
    return theirs.template get<std::int64_t>() < kShortNs;
  });
}

Competitor MakeGraph(const SweepContext& context, const Competitor& of, int calls) {
  Competitor competitor;
  competitor.row = of.row;
  competitor.row.graph = calls;
  competitor.row.mode = "streamed";  // they follow each other
  competitor.label = of.label;
  competitor.graph_calls = calls;
  std::vector<DeviceCall*> captured;
  captured.reserve(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls; ++i) captured.push_back(of.on_device[i % of.on_device.size()]);
  auto graph = std::make_unique<GraphCall>(context.device->device(), captured);
  competitor.on_device.push_back(graph.get());
  competitor.prepared.push_back(std::move(graph));
  return competitor;
}

}  // namespace

std::vector<Competitor> MakeNcclCompetitors(const SweepContext& context, const Cell& cell,
                                            std::span<const BufferSet> sets) {
  std::vector<Competitor> competitors;
  for (NcclRow& nccl : context.nccl) {
    competitors.push_back(MakeNccl(context, nccl, cell, sets));
  }
  return competitors;
}

std::int64_t TimeOnDevice(const SweepContext& context, const Competitor& competitor) {
  return competitor.row.mode == "streamed" && competitor.graph_calls == 0
             ? context.device_clock->TimeStreamed(competitor.on_device)
             : context.device_clock->TimeIsolated(*competitor.on_device[0]);
}

std::vector<Competitor> MakeGraphCompetitors(const SweepContext& context,
                                             std::span<const Competitor> competitors) {
  std::vector<Competitor> graphs;
  const std::optional<int>& asked = context.options->graph_calls;
  for (const Competitor& of : competitors) {
    if (of.on_device.empty() || of.row.status != Status::kOk) continue;
    if (asked ? *asked == 0 : !IsShort(context, of)) continue;
    try {
      RunOnAllOrThrow(*context.session, [&] {
        graphs.push_back(MakeGraph(context, of, asked.value_or(kGraphCalls)));
      });
    } catch (const BackendError&) {
      continue;  // some rank cannot capture it; the row itself stays
    }
  }
  return graphs;
}

std::vector<Competitor> MakeDeviceBoundPasses(const SweepContext& context, std::size_t room) {
  std::vector<Competitor> passes;
  if (context.ranks_on_device < context.session->ranks()) return passes;
  Competitor pass;
  auto copy = std::make_unique<DeviceCopy>(context.device->device(), context.device->room(room));
  pass.bound_bytes = 2 * copy->bytes() * static_cast<std::uint64_t>(context.session->ranks());
  pass.on_device.push_back(copy.get());
  pass.prepared.push_back(std::move(copy));
  passes.push_back(std::move(pass));
  return passes;
}

}  // namespace hockney
