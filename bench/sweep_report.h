#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bench/competitors.h"
#include "bench/exit_codes.h"
#include "bench/sweep_options.h"
#include "tuner/records.h"

namespace hockney {

// What a sweep tells people. Everything is for rank 0.

// Prints the rows as lines of the sweep's table on stdout, with its head first if asked for: ranks
// and hosts, then the names of the columns.
void PrintRows(std::span<const SweepRow> rows, bool with_head);

// What a row ran, in few words: "two_shot nt x2", "mpi" (its default), "mpi ring".
std::string DescribeChoice(const SweepRow& row);

// The implementation that rows like this one are compared with: "mpi", on GPUs "nccl".
std::string_view BaselineOf(const SweepRow& row);
// The head of a column with how many times faster than that a row is.
std::string VersusBaseline(std::span<const SweepRow> rows);

// Prints, for each collective, type, operator and placement, the fastest row of every size beside
// MPI.
void PrintFastest(std::span<const SweepRow> rows);

// Says what the table's short words mean, and what a reader should know about these rows: one rank
// only, no warm-up.
void PrintLegend(std::span<const SweepRow> rows, const SweepOptions& options);

// Prints what a dry run would measure.
void PrintPlan(std::span<const Cell> cells, std::size_t arena_bytes, int ranks);

// And which of MPI's own algorithms, where any are asked for.
void PrintMpiPlan(const SweepOptions& options);

// A row of a cell that nobody can run.
SweepRow SkippedRow(const Cell& cell, const std::string& reason);

// Whether any row has a time.
bool AnyMeasured(std::span<const SweepRow> rows);

// 5 if data was wrong anywhere, 1 if a row failed, else 0.
ExitCode WorstOutcome(std::span<const SweepRow> rows);

// A line on stderr that says what runs now, what share is done and how long the rest may take:
// while stderr is a terminal it stands in place; else, while stdout is one, a line every 10 s;
// "always" and "never" overrule.
class ProgressLine {
 public:
  ProgressLine(const std::string& when, std::size_t cells, bool is_writer);
  void Show(std::size_t done, const Cell& cell);
  void Clear();

 private:
  enum class Style { kNone, kInPlace, kLines };
  Style style_ = Style::kNone;
  std::size_t cells_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace hockney
