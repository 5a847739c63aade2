#include "bench/device/device_ground.h"

#include <algorithm>

#include "collectives/executors/local_ranks.h"

namespace hockney {
namespace {

constexpr std::size_t kLeastScratchBytes = std::size_t{1} << 20;

}  // namespace

DeviceGround::DeviceGround(Session& session, Session& local, const Parts& parts,
                           const Options& options)
    : device_(parts.device),
      host_(parts.host),
      kind_(options.kind),
      path_(options.path),
      is_threads_(session.kind() == RankKind::kThreads),
      end_(device().MakeMark()),
      // Twice the cache. Made now, while nothing runs that waits for another rank.
      scratch_(device().Allocate(std::max(2 * device_.cache_bytes(), kLeastScratchBytes),
                                 PeerMemoryKind::kCudaIpc)) {
  if (parts.wire == nullptr) {
    domain_ = std::make_unique<CudaDomain>(session, device(), options.domain, kind_);
  } else {
    std::vector<bool> on_host;
    for (const int number : FindLocalNumbers(session, local)) on_host.push_back(number >= 0);
    proxy_ =
        std::make_unique<UcxProxy>(device(), on_host, options.domain, *parts.wire, options.path);
    domain_ = std::make_unique<CudaDomain>(session, CudaDomain::Hosts{local, *proxy_}, device(),
                                           options.domain, kind_);
  }
  executor_ = std::make_unique<CudaExecutor>(
      session, *domain_,
      CudaExecutor::Options{.threads = device().usual_threads(),
                            .ranks_on_device = device_.ranks_on_device(),
                            .timeout_seconds = options.timeout_seconds});
}

std::byte* DeviceGround::OnDevice(std::byte* host) const {
  return host == nullptr ? nullptr : domain_->arena() + (host - host_.data());
}

Call DeviceGround::OnDevice(Call call) const {
  call.input = OnDevice(call.input);
  call.output = OnDevice(call.output);
  return call;
}

std::unique_ptr<DeviceCall> DeviceGround::Prepare(const Call& call, const Algorithm& row,
                                                  const CallFlow& flow) {
  return executor_->Prepare(OnDevice(call), row, flow);
}

std::unique_ptr<DeviceCall> DeviceGround::PrepareProgram(const Call& call,
                                                         const RankProgram& program,
                                                         const CallFlow& flow) {
  return executor_->PrepareProgram(OnDevice(call), program, flow);
}

std::string DeviceGround::Transport() const {
  if (is_threads_) return "cuda:peer";
  return kind_ == PeerMemoryKind::kCudaIpc ? "cuda:ipc" : "cuda:fd";
}

void DeviceGround::Upload(const BufferSet& set) const {
  device().Write(OnDevice(set.room().data()), set.room());
}

void DeviceGround::Download(const BufferSet& set) const {
  device().Read(set.room(), OnDevice(set.room().data()));
}

void DeviceGround::Refresh(const BufferSet& set) {
  if (!set.input().empty()) {
    device().EnqueueFill({OnDevice(set.input().data()), set.input().size()}, BufferSet::kFreshByte);
  }
  // Reads it, in parts that the scratch has room for.
  const std::size_t room = scratch_->bytes();
  for (std::size_t at = 0; at < set.output().size(); at += room) {
    device().EnqueueCopy(scratch_->data(), OnDevice(set.output().data()) + at,
                         std::min(room, set.output().size() - at));
  }
  WaitForQueue(*end_);
}

void DeviceGround::FlushCache() {
  device().EnqueueFill({scratch_->data(), scratch_->bytes()}, std::byte{1});
  WaitForQueue(*end_);
}

}  // namespace hockney
