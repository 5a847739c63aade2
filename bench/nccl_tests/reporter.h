#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/groups/merged_groups.h"
#include "bench/groups/split_rule.h"
#include "bench/nccl_tests/environment.h"
#include "bench/nccl_tests/json.h"
#include "bench/nccl_tests/table.h"
#include "bench/reporter.h"

namespace hockney {

// Which time of a row the table shows.
enum class TableTime {
  kOfRanks,  // nccl-tests': each rank's mean, then as -a says
  kOfRow,    // a sweep's: the median of isolated calls, the mean of streamed ones
};

// Shows a sweep as nccl-tests does: on stdout, and in the file of -J. A line is a size with both
// placements, each by the fastest row that was timed; lines before the end say which that was.
// With groups that work at once a line is all of them: ranks' times as -a says, or the slowest
// group's row; sizes are the first group's.
class NcclTestsReporter : public Reporter {
 public:
  // `run` comes without devices; `arguments` are the command line, program first.
  NcclTestsReporter(NcclTestsRun run, NcclTestsEnvironment environment,
                    std::vector<std::string> arguments, TableTime time);

  // Throws EnvironmentError if the file of -J cannot be written; so do Add and Finish.
  void Start(const nlohmann::ordered_json& facts) override;
  void Add(const Cell& cell, const Competitor& competitor) override;
  void EndCell(const Cell& cell) override;
  ExitCode Finish(std::span<const SweepRow> rows, bool finished) override;

 private:
  // The best row of one placement of a size so far.
  struct Best {
    RowSide side = {};
    std::string choice = {};
    bool timed = false;
    int slowest_group = 0;
  };
  // Sizes from `first_bytes` on ran by `choice`.
  struct Stretch {
    std::uint64_t first_bytes = 0;
    std::string choice = {};
  };

  void AddWhole(const Cell& cell, const Competitor& competitor);
  double TimeOf(const Competitor& competitor) const;
  std::optional<IterationTimes> IterationsOf(const Competitor& competitor) const;
  void PrintRow(const Cell& cell);
  void PrintChoices() const;
  void PrintSlowest() const;

  NcclTestsRun run_;
  NcclTestsEnvironment environment_;
  std::vector<std::string> arguments_;
  TableTime time_;
  std::optional<NcclTestsJson> json_;
  RunTotals totals_;
  GroupMembers groups_;  // empty: all ranks are one
  MergedGroups merged_;
  std::map<int, int> times_slowest_;  // by group
  std::optional<Best> best_[2];       // apart, in place
  std::vector<Stretch> stretches_[2];
  bool any_row_ = false;
  std::string skipped_ = {};  // why the last row that nobody could run was not
  std::vector<std::string> errors_;
};

}  // namespace hockney
