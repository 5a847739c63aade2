#include <fmt/core.h>

#include <limits>
#include <map>
#include <utility>

#include "tuner/exports/exports.h"
#include "tuner/exports/mpi_rules.h"
#include "tuner/exports/ompi_rules.h"

namespace hockney {
namespace {

constexpr const char* kFile = "ompi_rules.conf";

// Open MPI looks at no size there: all_to_all_v's differs between ranks.
bool IgnoresSize(Collective collective) {
  return collective == Collective::kBarrier || collective == Collective::kAllToAllV;
}

OmpiRankRules NoRules(std::int64_t ranks) { return {.ranks = ranks, .rules = {OmpiMessageRule{}}}; }

// Whatever has no number in Open MPI is left to its own choice, with a note.
OmpiMessageRule Convert(const MpiRules& table, const MpiRule& rule,
                        std::vector<std::string>& notes) {
  OmpiMessageRule converted{.min_bytes = rule.min_bytes};
  if (rule.algorithm.empty()) return converted;
  const auto id = OpenMpiId(table.collective, rule.algorithm);
  if (!id) {
    notes.push_back(fmt::format("left out: {} of {} ranks from {} bytes on: Open MPI has no {}",
                                Name(table.collective), table.ranks, rule.min_bytes,
                                rule.algorithm));
    return converted;
  }
  converted.algorithm = *id;
  converted.faninout = static_cast<int>(rule.faninout);
  converted.segment_bytes = static_cast<std::uint64_t>(rule.segment_bytes);
  return converted;
}

OmpiRankRules ConvertTable(const MpiRules& table, std::vector<std::string>& notes) {
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
  if (IgnoresSize(table.collective) && table.rules.size() > 1) {
    notes.push_back(
        fmt::format("left out: {} of {} ranks: Open MPI takes one algorithm for all sizes",
                    Name(table.collective), table.ranks));
    return NoRules(table.ranks);
  }
  OmpiRankRules entry{.ranks = table.ranks};
  for (const MpiRule& rule : table.rules) {
    if (rule.min_bytes > kMostBytes) break;
    entry.rules.push_back(Convert(table, rule, notes));
  }
  return entry;
}

}  // namespace

Exported ExportOmpi(const Tuning& tuning) {
  Exported result;
  MpiTuning found = CollectMpiRules(tuning, MpiFamily::kOpenMpi);
  if (found.tables.empty()) {
    result.notes.push_back("Open MPI: no rule was measured with it");
    return result;
  }
  result.notes = std::move(found.notes);
  std::map<int, OmpiCollectiveRules> by_id;
  for (const MpiRules& table : found.tables) {
    const int id = OmpiIdOf(table.collective).value();  // all that CollectMpiRules keeps have one
    OmpiCollectiveRules& collective = by_id[id];
    collective.id = id;
    auto& ranks = collective.ranks;
    // An entry counts up to the next one: those nobody measured get one of their own.
    if (ranks.empty()) ranks.push_back(NoRules(0));
    if (ranks.back().ranks == table.ranks) ranks.pop_back();
    ranks.push_back(ConvertTable(table, result.notes));
    if (table.ranks < std::numeric_limits<int>::max()) ranks.push_back(NoRules(table.ranks + 1));
  }
  OmpiRules rules;
  rules.reserve(by_id.size());
  for (auto& [id, collective] : by_id) rules.push_back(std::move(collective));
  const std::string text = fmt::format("# Rules for coll/tuned of Open MPI, measured with {}\n{}",
                                       found.library, FormatOmpiRules(rules));
  CheckOmpiRules(kFile, ReadOmpiRules(kFile, text));  // Open MPI would say nothing
  result.files.push_back({kFile, text});
  result.notes.insert(result.notes.begin(),
                      fmt::format("Open MPI: mpirun --mca coll_tuned_use_dynamic_rules 1 --mca "
                                  "coll_tuned_dynamic_rules_filename {}",
                                  kFile));
  return result;
}

}  // namespace hockney
