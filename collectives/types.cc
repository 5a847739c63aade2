#include "collectives/types.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

template <class T>
struct Spelling {
  std::string_view text;
  T value;
};

// The first spelling of a value is its name. Other spellings are those of nccl-tests, MPI and numpy
// users.
constexpr Spelling<DataType> kDataTypes[] = {
    {"int8", DataType::kInt8},
    {"uint8", DataType::kUint8},
    {"int32", DataType::kInt32},
    {"uint32", DataType::kUint32},
    {"int64", DataType::kInt64},
    {"uint64", DataType::kUint64},
    {"float16", DataType::kFloat16},
    {"bfloat16", DataType::kBfloat16},
    {"float8_e4m3", DataType::kFloat8E4m3},
    {"float8_e5m2", DataType::kFloat8E5m2},
    {"float32", DataType::kFloat32},
    {"float64", DataType::kFloat64},
    {"half", DataType::kFloat16},
    {"fp16", DataType::kFloat16},
    {"bf16", DataType::kBfloat16},
    {"f8e4m3", DataType::kFloat8E4m3},
    {"f8e5m2", DataType::kFloat8E5m2},
    {"fp8_e4m3", DataType::kFloat8E4m3},
    {"fp8_e5m2", DataType::kFloat8E5m2},
    {"float", DataType::kFloat32},
    {"fp32", DataType::kFloat32},
    {"double", DataType::kFloat64},
    {"fp64", DataType::kFloat64},
};
constexpr Spelling<ReduceOp> kReduceOps[] = {
    {"sum", ReduceOp::kSum}, {"prod", ReduceOp::kProd}, {"min", ReduceOp::kMin},
    {"max", ReduceOp::kMax}, {"avg", ReduceOp::kAvg},
};
constexpr Spelling<Collective> kCollectives[] = {
    {"all_reduce", Collective::kAllReduce},   {"reduce_scatter", Collective::kReduceScatter},
    {"all_gather", Collective::kAllGather},   {"all_to_all", Collective::kAllToAll},
    {"all_to_all_v", Collective::kAllToAllV}, {"broadcast", Collective::kBroadcast},
    {"reduce", Collective::kReduce},          {"gather", Collective::kGather},
    {"scatter", Collective::kScatter},        {"barrier", Collective::kBarrier},
    {"send_recv", Collective::kSendRecv},     {"bcast", Collective::kBroadcast},
};

template <class T, std::size_t n>
std::string_view FindName(const Spelling<T> (&table)[n], T value) {
  for (const auto& row : table) {
    if (row.value == value) return row.text;
  }
  throw std::invalid_argument("value outside its enumeration");
}

// Lower case; with `without_underscores` "all_reduce" and "AllReduce" become the same text.
std::string Normalize(std::string_view text, bool without_underscores) {
  std::string result;
  for (const char c : text) {
    if (without_underscores && (c == '_' || c == '-')) continue;
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

template <class T, std::size_t n>
std::optional<T> Parse(const Spelling<T> (&table)[n], std::string_view text,
                       bool ignore_underscores) {
  for (const auto& row : table) {
    if (Normalize(row.text, ignore_underscores) == Normalize(text, ignore_underscores)) {
      return row.value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(DataType type) { return FindName(kDataTypes, type); }
std::string_view Name(ReduceOp op) { return FindName(kReduceOps, op); }
std::string_view Name(Collective collective) { return FindName(kCollectives, collective); }

std::optional<DataType> ParseDataType(std::string_view text) {
  return Parse(kDataTypes, text, false);
}
std::optional<ReduceOp> ParseReduceOp(std::string_view text) {
  return Parse(kReduceOps, text, false);
}
std::optional<Collective> ParseCollective(std::string_view text) {
  return Parse(kCollectives, text, true);
}

}  // namespace hockney
