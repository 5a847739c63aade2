#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hockney {

enum class DataType : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat8E4m3,
  kFloat8E5m2,
  kFloat32,
  kFloat64,
};
enum class ReduceOp : std::uint8_t { kSum, kProd, kMin, kMax, kAvg };
enum class Collective : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kAllToAllV,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kBarrier,
  kSendRecv,
};

inline constexpr std::array kAllDataTypes = {
    DataType::kInt8,       DataType::kUint8,      DataType::kInt32,   DataType::kUint32,
    DataType::kInt64,      DataType::kUint64,     DataType::kFloat16, DataType::kBfloat16,
    DataType::kFloat8E4m3, DataType::kFloat8E5m2, DataType::kFloat32, DataType::kFloat64};
inline constexpr std::array kAllReduceOps = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin,
                                             ReduceOp::kMax, ReduceOp::kAvg};
inline constexpr std::array kAllCollectives = {
    Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
    Collective::kAllToAll,  Collective::kAllToAllV,     Collective::kBroadcast,
    Collective::kReduce,    Collective::kGather,        Collective::kScatter,
    Collective::kBarrier,   Collective::kSendRecv};

// The names that users read and write, e.g. "float8_e4m3", "avg", "all_to_all_v".
std::string_view Name(DataType type);
std::string_view Name(ReduceOp op);
std::string_view Name(Collective collective);

// Read the names above and the other spellings people use (half, fp16, bf16, float, double, f8e4m3,
// allreduce, alltoall, bcast, sendrecv, ...). Case does not matter. Nothing for an unknown name.
std::optional<DataType> ParseDataType(std::string_view text);
std::optional<ReduceOp> ParseReduceOp(std::string_view text);
std::optional<Collective> ParseCollective(std::string_view text);

// Bytes of one element.
constexpr std::size_t ElementBytes(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64:
      return 8;
  }
  return 0;
}

constexpr bool IsFloat(DataType type) { return type >= DataType::kFloat16; }

// Whether the collective combines elements (and so has a ReduceOp), and whether it has a root.
constexpr bool Reduces(Collective c) {
  return c == Collective::kAllReduce || c == Collective::kReduceScatter || c == Collective::kReduce;
}
constexpr bool HasRoot(Collective c) {
  return c == Collective::kBroadcast || c == Collective::kReduce || c == Collective::kGather ||
         c == Collective::kScatter;
}

}  // namespace hockney
