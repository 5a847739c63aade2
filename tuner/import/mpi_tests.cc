#include "tuner/import/mpi_tests.h"

#include <algorithm>
#include <utility>

namespace hockney {
namespace {

template <class T>
struct MpiName {
  std::string_view name;
  T value;
};
constexpr MpiName<DataType> kTypes[] = {
    {"MPI_CHAR", DataType::kInt8},           {"MPI_SIGNED_CHAR", DataType::kInt8},
    {"MPI_INT8_T", DataType::kInt8},         {"MPI_BYTE", DataType::kUint8},
    {"MPI_UNSIGNED_CHAR", DataType::kUint8}, {"MPI_UINT8_T", DataType::kUint8},
    {"MPI_INT", DataType::kInt32},           {"MPI_INT32_T", DataType::kInt32},
    {"MPI_UNSIGNED", DataType::kUint32},     {"MPI_UINT32_T", DataType::kUint32},
    {"MPI_LONG", DataType::kInt64},          {"MPI_LONG_LONG", DataType::kInt64},
    {"MPI_INT64_T", DataType::kInt64},       {"MPI_UNSIGNED_LONG", DataType::kUint64},
    {"MPI_UINT64_T", DataType::kUint64},     {"MPI_FLOAT", DataType::kFloat32},
    {"MPI_DOUBLE", DataType::kFloat64},
};
constexpr MpiName<ReduceOp> kOps[] = {
    {"MPI_SUM", ReduceOp::kSum},
    {"MPI_PROD", ReduceOp::kProd},
    {"MPI_MIN", ReduceOp::kMin},
    {"MPI_MAX", ReduceOp::kMax},
};

template <class T, std::size_t n>
std::optional<T> Find(const MpiName<T> (&table)[n], std::string_view name) {
  while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
  const auto* const found =
      std::find_if(table, table + n, [name](const auto& row) { return row.name == name; });
  return found == table + n ? std::nullopt : std::optional<T>(found->value);
}

}  // namespace

std::optional<DataType> ParseMpiType(std::string_view name) { return Find(kTypes, name); }
std::optional<ReduceOp> ParseMpiOp(std::string_view name) { return Find(kOps, name); }

ImportedTable StartMpiTable(const LogText& log, const LogLine& line, std::string format) {
  ImportedTable table;
  table.file = log.file();
  table.line = line.number;
  table.format = std::move(format);
  table.implementation = "mpi";
  table.needs_library = true;
  table.size_meaning = SizeMeaning::kOneBlock;
  return table;
}

void SetTime(SweepRow& row, std::optional<double> us) {
  if (us && *us > 0) {
    row.time_us_mean = row.time_us_median = us;
    return;
  }
  row.status = Status::kFailed;
  row.reason = us ? "the log's time is 0" : "no time in the log";
}

void AddParameter(SweepRow& row, std::string_view key, std::string_view value) {
  if (!row.parameters.empty()) row.parameters += ';';
  row.parameters.append(key).append("=").append(value);
}

bool IsCut(const LogLine& line, std::string_view last_word, std::string_view last_word_before) {
  return !line.ended && Decimals(last_word) < Decimals(last_word_before);
}

}  // namespace hockney
