#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/types.h"
#include "tuner/records/sweep_row.h"

namespace hockney {

// What the size column of a log counts where every rank has a block for each other one.
enum class SizeMeaning {
  kAllBlocks,  // all of them, as nccl-tests and SizeBytes (tuner/bandwidth.h)
  kOneBlock,  // the one that a rank sends, as OSU and IMB; reduce_scatter's is the input there, too
};

// A number as a log prints it: the value lies within half a unit of its last digit.
struct PrintedNumber {
  double value = 0;
  double half_unit = 0;
};

// One line of a table, or one placement of it.
struct ImportedRow {
  std::size_t line = 0;  // of the file
  // What the line says, by sweep.csv's columns; the rest is filled in by CompleteRows. The size is
  // the log's until then.
  SweepRow row = {};
  std::optional<PrintedNumber> algbw = {};
  std::optional<PrintedNumber> busbw = {};
};

// One series of a log, as far as the log says.
struct ImportedTable {
  std::string file = {};
  std::size_t line = 0;                      // of its first row or header
  std::string format = {};                   // nccl-tests, rccl-tests, OSU, IMB, ucx_perftest
  std::string version = {};                  // of that tool
  std::string benchmark = {};                // in the log's words, may be empty
  std::string unknown = {};                  // why no row of it can be used, if so
  std::vector<Collective> collectives = {};  // those that it may be of; one: said
  std::vector<Collective> hints = {};        // named near it, but not as its own
  std::string implementation = {};
  std::string library = {};                  // "NCCL 2.29.2"
  bool needs_library = false;                // nobody can use the rows without
  std::vector<std::string> parameters = {};  // key=value, of all rows
  SizeMeaning size_meaning = SizeMeaning::kAllBlocks;
  bool says_size = true;
  std::optional<int> ranks = {};
  std::string ranks_from = {};  // what says so: "device lines"
  std::optional<int> nodes = {};
  std::optional<double> average_busbw = {};  // as printed at its end, GB/s
  std::optional<std::uint64_t> iterations = {};
  std::vector<ImportedRow> rows = {};
  std::size_t lines = 0;                // rows as the log prints them, both placements in one
  std::vector<std::string> notes = {};  // `file:line: ...`, what is odd or was left out
};

// What the user says about tables that do not say it.
struct ImportAnswers {
  std::optional<Collective> collective = {};
  std::optional<int> ranks = {};
  std::optional<int> nodes = {};
  std::string library = {};
  std::optional<DataType> dtype = {};
  std::optional<std::uint64_t> size_bytes = {};
  // What NCCL was told to use (NCCL_ALGO, NCCL_PROTO), which no log says; both or neither.
  std::string nccl_algorithm = {};
  std::string nccl_protocol = {};
};

// Parts the table where its sizes start again, so that no two runs become one series; types, ops
// and roots may follow each other. Throws InputError, naming the line, where runs are mixed row by
// row: those cannot be told apart.
std::vector<ImportedTable> SplitSeries(ImportedTable table);

// Settles what the table leaves open: its collective and ranks, from the shape of its rows, what
// stands around it, the file's name and `answers`, in this order. Afterwards `collectives` is one
// and `ranks` is set. What the log says counts more than an answer; a note tells. Throws
// InputError, naming the option that would help, if it cannot be known for certain.
void Settle(ImportedTable& table, const ImportAnswers& answers);

// Settles the table and returns its rows as sweep.csv has them: sizes as nccl-tests means them,
// rates from the times. Throws InputError like Settle, for a library, type or size that is not
// known.
std::vector<SweepRow> CompleteRows(ImportedTable& table, const ImportAnswers& answers);

}  // namespace hockney
