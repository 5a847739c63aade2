#include "collectives/baselines/nccl/nccl_communicator.h"

#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "topology/agree.h"
#include "topology/concat.h"
#include "topology/deadline.h"

namespace hockney {
namespace {

// A variable of the environment for as long as this lives; NCCL reads its own when a communicator
// is made. Not for processes whose other threads read the environment meanwhile.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), set_(!value.empty()) {
    if (!set_) return;
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (!set_) return;
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool set_;
  std::optional<std::string> before_;
};

}  // namespace

NcclBaseline::Communicator::Communicator(Session& session, const Device& device,
                                         NcclLibrary library, const NcclChoice& choice)
    : session_(session),
      library_(std::move(library)),
      rank_(session.rank()),
      ranks_(session.ranks()),
      timeout_seconds_(session.timeout_seconds()),
      stream_(static_cast<cudaStream_t>(device.stream())) {
  ncclUniqueId id{};
  RunOnAllOrThrow(session, [&] {
    if (rank_ != 0) return;
    const ncclResult_t status = api().unique_id(&id);
    if (status != ncclSuccess) Fail("ncclGetUniqueId", status);
  });
  session.Broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
  const Variable algorithm("NCCL_ALGO", choice.algorithm);
  const Variable protocol("NCCL_PROTO", choice.protocol);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (choice.channels > 0) config.minCTAs = config.maxCTAs = choice.channels;
  RunOnAllOrThrow(session, [&] {
    if (stream_ == nullptr) throw EnvironmentError("no NCCL: " + device.name() + " is no GPU");
  });
  Finish("ncclCommInitRankConfig", api().init_rank(&comm_, ranks_, id, rank_, &config));
}

NcclBaseline::Communicator::~Communicator() {
  if (comm_ != nullptr) {
    ncclResult_t status = api().finalize(comm_);
    const Deadline deadline(timeout_seconds_);
    while (status == ncclInProgress && !deadline.passed()) {
      sched_yield();
      if (api().async_error(comm_, &status) != ncclSuccess) status = ncclInternalError;
    }
    static_cast<void>(status == ncclSuccess ? api().destroy(comm_) : api().abort(comm_));
  }
}

void NcclBaseline::Communicator::Finish(const char* call, ncclResult_t status) {
  const Deadline deadline(timeout_seconds_);
  while (status == ncclInProgress) {
    if (deadline.passed()) TimeOut(call);
    sched_yield();
    const ncclResult_t asked = api().async_error(comm_, &status);
    if (asked != ncclSuccess) Fail("ncclCommGetAsyncError", asked);
  }
  if (status != ncclSuccess) Fail(call, status);
}

void NcclBaseline::Communicator::Check(const char* call) {
  if (session_.peer_failed()) {
    Abort();
    throw TimeoutError(
        Concat("rank ", rank_, " left NCCL's ", call, " because another rank failed"));
  }
  ncclResult_t status = ncclSuccess;
  const ncclResult_t asked = api().async_error(comm_, &status);
  if (asked != ncclSuccess) Fail("ncclCommGetAsyncError", asked);
  if (status != ncclSuccess && status != ncclInProgress) Fail(call, status);
}

void NcclBaseline::Communicator::TimeOut(const char* call) {
  Abort();
  throw TimeoutError(Concat("rank ", rank_, " waited ", timeout_seconds_, " s in NCCL's ", call));
}

void NcclBaseline::Communicator::Abort() {
  if (comm_ != nullptr) static_cast<void>(api().abort(comm_));
  comm_ = nullptr;
}

void NcclBaseline::Communicator::Fail(const char* call, ncclResult_t status) {
  const std::string text =
      Concat(call, ": ", api().error_string(status), " (NCCL ", library_.version(), ")");
  Abort();
  if (status == ncclUnhandledCudaError || status == ncclSystemError) {
    throw EnvironmentError("no NCCL: " + text);
  }
  throw BackendError(text);
}

}  // namespace hockney
