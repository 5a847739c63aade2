#include "bench/mpi_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/cell.h"
#include "bench/device/nccl_rows.h"
#include "collectives/baselines/mpi/mpi_algorithms.h"
#include "collectives/baselines/mpi/mpi_baseline.h"
#include "topology/check.h"
#include "topology/watchdog.h"

namespace hockney {
namespace {

constexpr const char* kDefault = "default";

Competitor StartCompetitor(const SweepContext& context, const Cell& cell,
                           const std::string& algorithm) {
  Competitor competitor;
  competitor.row = StartRow(context, cell);
  competitor.row.implementation = "mpi";
  competitor.row.algorithm = algorithm;
  competitor.row.requested_algorithm = algorithm;
  competitor.label = LabelOf(competitor.row);
  return competitor;
}

// Why there is no MPI at all, or "".
std::string WhyNoMpi(const SweepContext& context) {
  if (context.device != nullptr) return "MPI is timed on memory of the host only";
  return context.mpi == nullptr ? "MPI runs between processes of its launcher" : "";
}

// Whether the name is an algorithm of the collective in any library.
bool IsOfCollective(Collective collective, const std::string& name) {
  const auto all = AllMpiAlgorithms();
  return std::any_of(all.begin(), all.end(), [&](const MpiAlgorithm& algorithm) {
    return algorithm.collective == collective && algorithm.name == name;
  });
}

// The algorithms to time beside the default.
std::vector<std::string> AlgorithmsFor(const SweepContext& context, const Cell& cell) {
  std::vector<std::string> names = context.options->mpi_algorithms;
  if (names.empty() || MpiNameOf(cell.collective).empty()) return {};
  if (names[0] == kAllMpiAlgorithms) {
    // One row says why there are none.
    if (context.mpi != nullptr) names = context.mpi->Algorithms(cell.collective);
    return names.empty() ? std::vector<std::string>{kAllMpiAlgorithms} : names;
  }
  std::erase_if(names,
                [&](const std::string& name) { return !IsOfCollective(cell.collective, name); });
  return names;
}

// One call, because the library may refuse an algorithm for these ranks or this count.
std::string TryOnce(const SweepContext& context, const Competitor& competitor) {
  std::string reason;
  context.watchdog->SetActivity(competitor.label.c_str());
  context.watchdog->Arm("the first call of an algorithm of MPI");
  try {
    competitor.prepared[0]->Run();
  } catch (const BackendError&) {
    reason = context.mpi->Library() + " refuses it for these ranks and elements";
  }
  context.watchdog->Disarm();
  context.watchdog->EndActivity("the next algorithm of MPI");  // labels may move
  return FirstReason(*context.session, reason);
}

// `algorithm` empty: the library's choice.
void Prepare(const SweepContext& context, const Cell& cell, const std::string& algorithm,
             std::span<const BufferSet> sets, Competitor& competitor) {
  MpiBaseline& mpi = *context.mpi;
  competitor.row.transport = mpi.Module();
  competitor.row.parameters = "library=" + mpi.Library();
  const Call first = MakeCall(cell, sets[0]);
  // What MPI cannot do may depend on the rank (a root's buffers): nobody runs what one cannot.
  std::string reason = mpi.WhyNot(first);
  if (reason.empty() && !algorithm.empty()) reason = mpi.WhyNotForced(first, algorithm);
  reason = FirstReason(*context.session, reason);
  if (!reason.empty()) return Skip(competitor, Status::kSkipped, reason);
  for (const BufferSet& set : sets) {
    competitor.prepared.push_back(mpi.Prepare(MakeCall(cell, set), algorithm));
  }
  if (context.options->mpi_algorithms.empty()) return;
  competitor.before = [&mpi, collective = cell.collective, algorithm] {
    mpi.Select(collective, algorithm);
  };
  if (algorithm.empty()) return;
  const std::string settings = mpi.Settings(cell.collective, algorithm);
  // Sorted by their names.
  std::string& parameters = competitor.row.parameters;
  if (settings.starts_with("faninout"))
    parameters = settings + ";" + parameters;
  else if (!settings.empty())
    parameters += ";" + settings;
  competitor.before();
  reason = TryOnce(context, competitor);
  mpi.Select(cell.collective, "");
  if (!reason.empty()) Skip(competitor, Status::kSkipped, reason);
}

}  // namespace

std::vector<Competitor> MakeMpiCompetitors(const SweepContext& context, const Cell& cell,
                                           std::span<const BufferSet> sets) {
  std::vector<Competitor> competitors;
  const std::string no_mpi = WhyNoMpi(context);
  std::vector<std::string> algorithms = AlgorithmsFor(context, cell);
  algorithms.insert(algorithms.begin(), "");
  competitors.reserve(algorithms.size());
  for (const std::string& algorithm : algorithms) {
    Competitor& competitor = competitors.emplace_back(
        StartCompetitor(context, cell, algorithm.empty() ? kDefault : algorithm));
    if (no_mpi.empty()) {
      Prepare(context, cell, algorithm, sets, competitor);
    } else {
      Skip(competitor, Status::kSkipped, no_mpi);
    }
  }
  return competitors;
}

}  // namespace hockney
