#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tuner/import/imported_table.h"
#include "tuner/import/log_text.h"

namespace hockney {

// What OSU's and Intel's benchmarks have in common.

// The type that MPI calls so: MPI_CHAR and MPI_SIGNED_CHAR are int8, MPI_BYTE is uint8.
std::optional<DataType> ParseMpiType(std::string_view name);
// The same of MPI_SUM and its kind.
std::optional<ReduceOp> ParseMpiOp(std::string_view name);

// A table of `format` at the line, of MPI calls on host memory.
ImportedTable StartMpiTable(const LogText& log, const LogLine& line, std::string format);

// Sets mean and median to `us`; a time of 0 is none.
void SetTime(SweepRow& row, std::optional<double> us);

// Adds `key=value` to the row's parameters.
void AddParameter(SweepRow& row, std::string_view key, std::string_view value);

// Whether the line is the last of its file, has no end and fewer decimals than the row before: it
// was cut within its last number.
bool IsCut(const LogLine& line, std::string_view last_word, std::string_view last_word_before);

}  // namespace hockney
