#include "bench/nccl_tests/names.h"

#include <stdexcept>

namespace hockney {
namespace {

struct Program {
  std::string_view name;
  Collective collective;
};
constexpr Program kPrograms[] = {
    {"all_reduce_perf", Collective::kAllReduce},
    {"all_gather_perf", Collective::kAllGather},
    {"reduce_scatter_perf", Collective::kReduceScatter},
    {"alltoall_perf", Collective::kAllToAll},
    {"broadcast_perf", Collective::kBroadcast},
    {"reduce_perf", Collective::kReduce},
    {"sendrecv_perf", Collective::kSendRecv},
    {"gather_perf", Collective::kGather},
    {"scatter_perf", Collective::kScatter},
};

struct TypeName {
  std::string_view name;
  DataType type;
};
// In the order of nccl-tests' list, which `-d all` follows.
constexpr TypeName kTypeNames[] = {
    {"int8", DataType::kInt8},         {"uint8", DataType::kUint8},
    {"int32", DataType::kInt32},       {"uint32", DataType::kUint32},
    {"int64", DataType::kInt64},       {"uint64", DataType::kUint64},
    {"half", DataType::kFloat16},      {"float", DataType::kFloat32},
    {"double", DataType::kFloat64},    {"bfloat16", DataType::kBfloat16},
    {"f8e4m3", DataType::kFloat8E4m3}, {"f8e5m2", DataType::kFloat8E5m2},
};

// A build's NAME_SUFFIX is free text; a letter or digit would make it another program's name
// (alltoallv_perf starts with no name of the list, but all_reduce_perf2 would).
bool StartsSuffix(char c) { return c == '_' || c == '-' || c == '.'; }

}  // namespace

std::string_view BaseName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<Collective> CollectiveOfProgram(std::string_view argv0) {
  const std::string_view base = BaseName(argv0);
  for (const Program& program : kPrograms) {
    if (!base.starts_with(program.name)) continue;
    const std::string_view suffix = base.substr(program.name.size());
    if (suffix.empty() || StartsSuffix(suffix[0])) return program.collective;
  }
  return std::nullopt;
}

std::string_view NcclTestsTypeName(DataType type) {
  for (const TypeName& row : kTypeNames) {
    if (row.type == type) return row.name;
  }
  throw std::invalid_argument("type outside its enumeration");
}

std::string_view NcclTestsRedopName(Collective collective, ReduceOp op) {
  const bool shown = Reduces(collective) || collective == Collective::kSendRecv;
  return shown ? Name(op) : "none";
}

bool HasInPlaceForm(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kAllToAllV &&
         collective != Collective::kSendRecv;
}

std::vector<DataType> NcclTestsTypes() {
  std::vector<DataType> types;
  for (const TypeName& row : kTypeNames) types.push_back(row.type);
  return types;
}

std::vector<ReduceOp> NcclTestsOps() {
  return {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kAvg};
}

}  // namespace hockney
