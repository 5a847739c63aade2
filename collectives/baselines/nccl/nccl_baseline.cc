#include "collectives/baselines/nccl/nccl_baseline.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "collectives/baselines/nccl/nccl_communicator.h"
#include "topology/deadline.h"

namespace hockney {
namespace {

constexpr int kFirstWithFloat8 = 22400;

std::optional<ncclDataType_t> FindType(DataType type, const NcclApi& api) {
  switch (type) {
    case DataType::kInt8:
      return ncclInt8;
    case DataType::kUint8:
      return ncclUint8;
    case DataType::kInt32:
      return ncclInt32;
    case DataType::kUint32:
      return ncclUint32;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kUint64:
      return ncclUint64;
    case DataType::kFloat16:
      return ncclFloat16;
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kFloat64:
      return ncclFloat64;
    case DataType::kFloat8E4m3:
      if (api.number >= kFirstWithFloat8) return ncclFloat8e4m3;
      break;
    case DataType::kFloat8E5m2:
      if (api.number >= kFirstWithFloat8) return ncclFloat8e5m2;
      break;
  }
  return std::nullopt;
}

ncclRedOp_t FindOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kProd:
      return ncclProd;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kAvg:
      return ncclAvg;
  }
  throw std::invalid_argument("unknown ReduceOp");
}

bool HasEqualBlocks(const Counts& counts) {
  for (const std::uint64_t count : counts.counts) {
    if (count != counts.counts[0]) return false;
  }
  return true;
}

// One call, as NCCL gets it.
class Calling {
 public:
  Calling(NcclBaseline::Communicator& communicator, const Call& call)
      : communicator_(communicator),
        call_(call),
        layout_(call.counts, call.type, Cut{}),
        // Where nothing is computed the width is all that matters.
        type_(FindType(call.type, communicator.api()).value_or(ncclUint8)) {}

  // Puts it into the stream.
  void Enqueue() {
    const NcclApi& api = communicator_.api();
    const ncclComm_t comm = communicator_.handle();
    const cudaStream_t stream = communicator_.stream();
    const std::size_t count = call_.counts.counts.empty() ? 0 : call_.counts.counts[0];
    const int root = call_.shape.root;
    switch (call_.shape.collective) {
      case Collective::kAllReduce:
        return Finish("ncclAllReduce", api.all_reduce(call_.input, call_.output, count, type_,
                                                      FindOp(call_.op), comm, stream));
      case Collective::kReduceScatter:
        return Finish("ncclReduceScatter",
                      api.reduce_scatter(call_.input, call_.output, count, type_, FindOp(call_.op),
                                         comm, stream));
      case Collective::kReduce:
        return Finish("ncclReduce", api.reduce(call_.input, call_.output, count, type_,
                                               FindOp(call_.op), root, comm, stream));
      case Collective::kBroadcast:
        return Finish("ncclBroadcast",
                      api.broadcast(call_.input, call_.output, count, type_, root, comm, stream));
      case Collective::kAllGather:
        if (HasEqualBlocks(call_.counts)) {
          return Finish("ncclAllGather",
                        api.all_gather(call_.input, call_.output, count, type_, comm, stream));
        }
        return Exchange();
      case Collective::kAllToAll:
        if (api.all_to_all == nullptr) return Exchange();
        return Finish("ncclAlltoAll",
                      api.all_to_all(call_.input, call_.output, count, type_, comm, stream));
      default:
        return Exchange();
    }
  }

 private:
  void Finish(const char* name, ncclResult_t status) { communicator_.Finish(name, status); }

  // Where this rank's part for `peer` begins in the input, and `peer`'s part in the output; by
  // sends and receives of one group, as NCCL's users write collectives that it has no call for.
  void Exchange() {
    const NcclApi& api = communicator_.api();
    Finish("ncclGroupStart", api.group_start());
    for (int peer = 0; peer < communicator_.ranks(); ++peer) {
      const ByteRange out = PartFor(peer);
      const ByteRange in = PartFrom(peer);
      if (out.bytes > 0) {
        FinishInGroup(api.send(call_.input + out.offset, out.bytes, ncclUint8, peer,
                               communicator_.handle(), communicator_.stream()));
      }
      if (in.bytes > 0) {
        FinishInGroup(api.receive(call_.output + in.offset, in.bytes, ncclUint8, peer,
                                  communicator_.handle(), communicator_.stream()));
      }
    }
    Finish("ncclGroupEnd", api.group_end());
  }
  // Inside a group nothing has begun yet.
  void FinishInGroup(ncclResult_t status) {
    if (status == ncclSuccess || status == ncclInProgress) return;
    static_cast<void>(communicator_.api().group_end());  // or the thread's next call would wait
    Finish("ncclSend or ncclRecv", status);
  }

  ByteRange PartFor(int peer) const {
    const int rank = communicator_.rank();
    const int ranks = communicator_.ranks();
    switch (call_.shape.collective) {
      case Collective::kAllGather:
        return Whole(Buffer::kInput);
      case Collective::kGather:
        return peer == call_.shape.root ? Whole(Buffer::kInput) : ByteRange{};
      case Collective::kScatter:
        return rank == call_.shape.root ? layout_.Find(rank, Buffer::kInput, peer) : ByteRange{};
      case Collective::kSendRecv:
        return peer == (rank + 1) % ranks ? Whole(Buffer::kInput) : ByteRange{};
      default:  // all_to_all and all_to_all_v
        return layout_.Find(rank, Buffer::kInput, peer);
    }
  }
  ByteRange PartFrom(int peer) const {
    const int rank = communicator_.rank();
    const int ranks = communicator_.ranks();
    switch (call_.shape.collective) {
      case Collective::kGather:
        return rank == call_.shape.root ? layout_.Find(rank, Buffer::kOutput, peer) : ByteRange{};
      case Collective::kScatter:
        return peer == call_.shape.root ? Whole(Buffer::kOutput) : ByteRange{};
      case Collective::kSendRecv:
        return (peer + 1) % ranks == rank ? Whole(Buffer::kOutput) : ByteRange{};
      default:  // all_gather, all_to_all and all_to_all_v
        return layout_.Find(rank, Buffer::kOutput, peer);
    }
  }
  ByteRange Whole(Buffer buffer) const {
    return {0, layout_.BufferBytes(communicator_.rank(), buffer)};
  }

  NcclBaseline::Communicator& communicator_;
  Call call_;
  Layout layout_;
  ncclDataType_t type_;
};

class NcclLaunch : public DeviceLaunch {
 public:
  NcclLaunch(NcclBaseline::Communicator& communicator, const Call& call)
      : calling_(communicator, call) {}
  void Enqueue() override { calling_.Enqueue(); }

 private:
  Calling calling_;
};

class NcclCall : public DeviceCall {
 public:
  NcclCall(Device& device, NcclBaseline::Communicator& communicator, const Call& call)
      : DeviceCall(device), communicator_(communicator), launch_(communicator, call) {}

  DeviceLaunch& launch() override { return launch_; }

 protected:
  void StartWaiting() override { deadline_.emplace(communicator_.timeout_seconds()); }
  void Progress() override {
    communicator_.Check("collective");
    if (deadline_->passed()) communicator_.TimeOut("collective");
  }

 private:
  NcclBaseline::Communicator& communicator_;
  NcclLaunch launch_;
  std::optional<Deadline> deadline_;
};

}  // namespace

NcclBaseline::NcclBaseline(Session& session, Device& device, const NcclLibrary& library,
                           const NcclChoice& choice)
    : device_(device),
      communicator_(std::make_unique<Communicator>(session, device, library, choice)) {}

void NcclBaseline::Abandon() { communicator_->Abort(); }

NcclBaseline::~NcclBaseline() = default;

std::string NcclBaseline::WhyNot(const Call& call) const {
  const Collective collective = call.shape.collective;
  if (collective == Collective::kBarrier) return "NCCL has no barrier";
  const bool computes = Reduces(collective);
  if (computes && !FindType(call.type, communicator_->api())) {
    return "NCCL " + NcclVersionText(communicator_->api().number) + " has no type " +
           std::string(Name(call.type));
  }
  if (collective == Collective::kReduceScatter && !HasEqualBlocks(call.counts)) {
    return "NCCL's reduce_scatter has equal blocks only";
  }
  return "";
}

std::unique_ptr<DeviceCall> NcclBaseline::Prepare(const Call& call) {
  const std::string reason = WhyNot(call);
  if (!reason.empty()) throw std::invalid_argument(reason);
  return std::make_unique<NcclCall>(device_, *communicator_, call);
}

}  // namespace hockney
