#include "collectives/baselines/mpi/mpi_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "topology/check.h"
#include "topology/session_mpi.h"

namespace hockney {
namespace {

constexpr std::uint64_t kMaxCount = std::numeric_limits<int>::max();  // MPI 3 counts with an int

bool HasMpiArithmetic(DataType type) {
  return type != DataType::kFloat16 && type != DataType::kBfloat16 &&
         type != DataType::kFloat8E4m3 && type != DataType::kFloat8E5m2;
}

MPI_Datatype DatatypeOf(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return MPI_INT8_T;
    case DataType::kUint8:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return MPI_UINT8_T;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return MPI_UINT16_T;
    case DataType::kInt32:
      return MPI_INT32_T;
    case DataType::kUint32:
      return MPI_UINT32_T;
    case DataType::kInt64:
      return MPI_INT64_T;
    case DataType::kUint64:
      return MPI_UINT64_T;
    case DataType::kFloat32:
      return MPI_FLOAT;
    case DataType::kFloat64:
      return MPI_DOUBLE;
  }
  throw std::invalid_argument("unknown data type");
}

MPI_Op OpOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return MPI_SUM;
    case ReduceOp::kProd:
      return MPI_PROD;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
    case ReduceOp::kAvg:
      return MPI_OP_NULL;
  }
  throw std::invalid_argument("unknown operator");
}

// Whether the call needs a form that takes a count for each block.
bool IsUneven(const Counts& counts) {
  const auto& n = counts.counts;
  return counts.collective == Collective::kAllToAllV ||
         std::adjacent_find(n.begin(), n.end(), std::not_equal_to<>()) != n.end();
}

// The sides of the collective that hold one block of each rank, at whichever rank that is.
std::vector<Buffer> LongBuffers(Collective collective) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return {Buffer::kInput};
    case Collective::kAllGather:
    case Collective::kGather:
      return {Buffer::kOutput};
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return {Buffer::kInput, Buffer::kOutput};
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return {};
  }
  throw std::invalid_argument("unknown collective");
}

// Counts and, in the forms with a count for each block, displacements that no int holds. An uneven
// reduce_scatter passes no displacements, but libraries sum its counts up in an int.
std::string WhyTooLong(const Layout& layout) {
  const Counts& counts = layout.counts();
  const bool uneven = IsUneven(counts);
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    if (counts.counts[i] <= kMaxCount) continue;
    // all_to_all_v has a count for each pair, by the rank that gives.
    const std::size_t pairs = counts.collective == Collective::kAllToAllV ? counts.ranks : 1;
    const std::string who = uneven ? fmt::format(" of rank {}", i / pairs) : "";
    return fmt::format("count {}{} is above MPI's limit of {}", counts.counts[i], who, kMaxCount);
  }
  if (!uneven) return "";
  for (const Buffer buffer : LongBuffers(counts.collective)) {
    for (int rank = 0; rank < counts.ranks; ++rank) {
      const std::uint64_t displacement =
          layout.Find(rank, buffer, counts.ranks - 1).offset / ElementBytes(layout.type());
      if (displacement > kMaxCount) {
        return fmt::format("displacement {} of the block of rank {} is above MPI's limit of {}",
                           displacement, counts.ranks - 1, kMaxCount);
      }
    }
  }
  return "";
}

// Counts and displacements of a long side, in elements.
struct Blocks {
  std::vector<int> counts;
  std::vector<int> displacements;
};

Blocks FindBlocks(const Layout& layout, int rank, Buffer buffer) {
  Blocks blocks;
  const std::size_t element = ElementBytes(layout.type());
  for (int block = 0; block < layout.counts().ranks; ++block) {
    const ByteRange range = layout.Find(rank, buffer, block);
    blocks.counts.push_back(static_cast<int>(range.bytes / element));
    blocks.displacements.push_back(static_cast<int>(range.offset / element));
  }
  return blocks;
}

// What one MPI call gets; `communicator` keeps it valid.
struct Arguments {
  Collective collective = Collective::kBarrier;
  bool uneven = false;
  bool is_root = false;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  const void* send = nullptr;  // or MPI_IN_PLACE
  void* receive = nullptr;     // or MPI_IN_PLACE
  int count = 0;               // of this rank's own block, or of every block
  std::size_t bytes = 0;       // the same
  Blocks sends;                // of the uneven forms
  Blocks receives;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
};

Arguments MakeArguments(const Call& call, const Layout& layout, int rank, bool in_place) {
  Arguments a;
  const Collective collective = call.shape.collective;
  const auto& counts = call.counts.counts;
  a.collective = collective;
  a.uneven = IsUneven(call.counts);
  a.rank = rank;
  a.ranks = call.counts.ranks;
  a.root = call.counts.root;
  a.is_root = HasRoot(collective) && rank == a.root;
  a.send = call.input;
  a.receive = call.output;
  a.type = DatatypeOf(call.type);
  a.op = OpOf(call.op);
  if (!counts.empty()) {
    a.count = static_cast<int>(counts.size() == 1 ? counts[0] : counts[rank]);
    a.bytes = static_cast<std::size_t>(a.count) * ElementBytes(call.type);
  }
  if (a.uneven) {
    for (const Buffer buffer : LongBuffers(collective)) {
      (buffer == Buffer::kInput ? a.sends : a.receives) = FindBlocks(layout, rank, buffer);
    }
  }
  if (!in_place) return a;
  const bool everywhere =
      collective == Collective::kAllReduce || collective == Collective::kAllGather;
  const bool to_root = collective == Collective::kReduce || collective == Collective::kGather;
  if (everywhere || (to_root && a.is_root)) a.send = MPI_IN_PLACE;
  if (collective == Collective::kScatter && a.is_root) a.receive = MPI_IN_PLACE;
  return a;
}

class MpiPrepared : public Prepared {
 public:
  MpiPrepared(std::shared_ptr<const MpiCommunicator> communicator, Arguments arguments)
      : communicator_(std::move(communicator)), a_(std::move(arguments)) {}

  void Run() override {
    if (a_.uneven) {
      RunUneven();
    } else if (HasRoot(a_.collective)) {
      RunRooted();
    } else {
      RunEven();
    }
  }

 private:
  void RunEven();
  void RunRooted();
  void RunUneven();

  std::shared_ptr<const MpiCommunicator> communicator_;  // kept alive
  Arguments a_;
};

void MpiPrepared::RunEven() {
  switch (a_.collective) {
    case Collective::kAllReduce:
      HOCKNEY_CHECK(MPI_Allreduce(a_.send, a_.receive, a_.count, a_.type, a_.op, a_.comm));
      return;
    case Collective::kReduceScatter:
      HOCKNEY_CHECK(
          MPI_Reduce_scatter_block(a_.send, a_.receive, a_.count, a_.type, a_.op, a_.comm));
      return;
    case Collective::kAllGather:
      HOCKNEY_CHECK(
          MPI_Allgather(a_.send, a_.count, a_.type, a_.receive, a_.count, a_.type, a_.comm));
      return;
    case Collective::kAllToAll:
      HOCKNEY_CHECK(
          MPI_Alltoall(a_.send, a_.count, a_.type, a_.receive, a_.count, a_.type, a_.comm));
      return;
    case Collective::kBarrier:
      HOCKNEY_CHECK(MPI_Barrier(a_.comm));
      return;
    case Collective::kSendRecv: {  // a ring shift
      const int next = (a_.rank + 1) % a_.ranks;
      const int previous = (a_.rank + a_.ranks - 1) % a_.ranks;
      HOCKNEY_CHECK(MPI_Sendrecv(a_.send, a_.count, a_.type, next, 0, a_.receive, a_.count, a_.type,
                                 previous, 0, a_.comm, MPI_STATUS_IGNORE));
      return;
    }
    case Collective::kAllToAllV:  // RunUneven
    case Collective::kBroadcast:  // RunRooted
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kScatter:
      break;
  }
  throw std::logic_error("not an even collective without a root");
}

void MpiPrepared::RunRooted() {
  switch (a_.collective) {
    case Collective::kBroadcast: {
      // MPI has one buffer a rank; the root's own output, which NCCL's form has, is not part of it.
      // Leaving out the copy would compare less work with more.
      void* const buffer = a_.is_root ? const_cast<void*>(a_.send) : a_.receive;
      HOCKNEY_CHECK(MPI_Bcast(buffer, a_.count, a_.type, a_.root, a_.comm));
      if (a_.is_root && a_.receive != a_.send && a_.bytes > 0) {
        std::memcpy(a_.receive, a_.send, a_.bytes);
      }
      return;
    }
    case Collective::kReduce:
      HOCKNEY_CHECK(MPI_Reduce(a_.send, a_.receive, a_.count, a_.type, a_.op, a_.root, a_.comm));
      return;
    case Collective::kGather:
      HOCKNEY_CHECK(
          MPI_Gather(a_.send, a_.count, a_.type, a_.receive, a_.count, a_.type, a_.root, a_.comm));
      return;
    case Collective::kScatter:
      HOCKNEY_CHECK(
          MPI_Scatter(a_.send, a_.count, a_.type, a_.receive, a_.count, a_.type, a_.root, a_.comm));
      return;
    case Collective::kAllReduce:  // RunEven or RunUneven
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      break;
  }
  throw std::logic_error("not a collective with a root");
}

void MpiPrepared::RunUneven() {
  const int* const send_counts = a_.sends.counts.data();
  const int* const send_places = a_.sends.displacements.data();
  const int* const receive_counts = a_.receives.counts.data();
  const int* const receive_places = a_.receives.displacements.data();
  switch (a_.collective) {
    case Collective::kReduceScatter:
      HOCKNEY_CHECK(MPI_Reduce_scatter(a_.send, a_.receive, send_counts, a_.type, a_.op, a_.comm));
      return;
    case Collective::kAllGather:
      HOCKNEY_CHECK(MPI_Allgatherv(a_.send, a_.count, a_.type, a_.receive, receive_counts,
                                   receive_places, a_.type, a_.comm));
      return;
    case Collective::kAllToAllV:
      HOCKNEY_CHECK(MPI_Alltoallv(a_.send, send_counts, send_places, a_.type, a_.receive,
                                  receive_counts, receive_places, a_.type, a_.comm));
      return;
    case Collective::kGather:
      HOCKNEY_CHECK(MPI_Gatherv(a_.send, a_.count, a_.type, a_.receive, receive_counts,
                                receive_places, a_.type, a_.root, a_.comm));
      return;
    case Collective::kScatter:
      HOCKNEY_CHECK(MPI_Scatterv(a_.send, send_counts, send_places, a_.type, a_.receive, a_.count,
                                 a_.type, a_.root, a_.comm));
      return;
    case Collective::kAllReduce:  // these have one count
    case Collective::kAllToAll:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      break;
  }
  throw std::logic_error("not a collective with a count for each block");
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent) { HOCKNEY_CHECK(MPI_Comm_dup(parent, &handle_)); }

MpiCommunicator::~MpiCommunicator() {
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&handle_);
}

std::string WhyNotMpiCall(const Call& call, const Layout& layout, bool in_place) {
  if (Reduces(call.shape.collective)) {
    if (!HasMpiArithmetic(call.type)) return fmt::format("MPI has no type {}", Name(call.type));
    if (call.op == ReduceOp::kAvg) return "MPI has no operator avg";
  }
  if (in_place && call.shape.collective == Collective::kReduceScatter) {
    return "MPI's in-place reduce_scatter leaves the result elsewhere, at the start of the buffer";
  }
  return WhyTooLong(layout);
}

std::unique_ptr<Prepared> PrepareMpiCall(const Call& call, const Layout& layout, bool in_place,
                                         std::shared_ptr<const MpiCommunicator> communicator) {
  int rank = 0;
  HOCKNEY_CHECK(MPI_Comm_rank(communicator->handle(), &rank));
  Arguments arguments = MakeArguments(call, layout, rank, in_place);
  arguments.comm = communicator->handle();
  return std::make_unique<MpiPrepared>(std::move(communicator), std::move(arguments));
}

}  // namespace hockney
