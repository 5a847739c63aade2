#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/import/imported_table.h"

namespace hockney {

// What the text and the JSON file of nccl-tests have in common. rccl-tests and hockney itself write
// the same.

// A line `#  Rank  0 Group  0 Pid 11 on node-01 device 0 [...] name`.
struct NcclTestsDevice {
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::int64_t pid = 0;
  std::string host = {};
  std::string name = {};
};

// What stands around a table.
struct NcclTestsFacts {
  std::string version = {};
  std::string program = {};  // all_reduce_perf, where it says which test this is
  std::vector<Collective> hints = {};
  std::string library = {};
  bool is_rccl = false;
  bool is_hockney = false;
  // What hockney says was the fastest, an algorithm or mpi, of each stretch of sizes.
  std::vector<std::string> choices = {};
  std::vector<NcclTestsDevice> devices = {};
  std::optional<std::uint64_t> iterations = {};
  std::optional<std::int64_t> graph = {};
};

// The collective that a program's name or path stands for: "./build/all_reduce_perf",
// "hockney sweep all_reduce".
std::optional<Collective> CollectiveOfTest(std::string_view program);

// "NCCL 2.29.2" of 22902, the number in nccl.h.
std::string NcclVersionText(std::uint64_t code);

// How the rows of a table look.
struct NcclTestsShape {
  bool has_redop = true;  // columns
  bool has_root = true;
  bool counts_errors = true;  // `#wrong`; older ones print the largest `error`
  bool any_op = false;
  bool any_none = false;
  bool any_blank_op = false;
  bool any_root = false;
  bool in_place_checked = false;
  bool only_out_checked = false;  // in a row whose other placement was measured
};
// The collectives whose tables look like that. Sizes and rates (Settle) tell more.
std::vector<Collective> PossibleCollectives(const NcclTestsShape& shape);

// One placement of a row, as printed.
struct NcclTestsSide {
  std::optional<double> time_us = {};
  std::optional<PrintedNumber> algbw = {};
  std::optional<PrintedNumber> busbw = {};
  std::optional<double> wrong = {};
  bool marked_wrong = false;  // rccl-tests' asterisk
};

// Adds the placements that were measured, `base` holding size, count, type, op and root.
void AddNcclTestsRow(ImportedTable& table, const ImportedRow& base, const NcclTestsSide& apart,
                     const NcclTestsSide& in_place, NcclTestsShape& shape);

// Fills in what `facts` and `shape` say of the whole table and of each row, and notes an average
// that is not that of the rows.
void FinishNcclTestsTable(ImportedTable& table, const NcclTestsFacts& facts,
                          const NcclTestsShape& shape);

}  // namespace hockney
