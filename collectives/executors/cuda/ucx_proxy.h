#pragma once

#include <memory>
#include <vector>

#include "collectives/executors/connection_protocol.h"
#include "collectives/executors/cuda/device.h"
#include "collectives/executors/cuda/remote_proxy.h"
#include "collectives/executors/host/remote_links.h"
#include "collectives/executors/segment_plan.h"

namespace hockney {

// How messages get from a device to the network and back.
enum class ProxyPath {
  kStaged,  // copied once here, between memory of the host that the blocks reach, and the wire's
  kDirect,  // by the network card, from and to memory of the device (GPUDirect RDMA)
};

// A proxy over UCX. Tested with threads in place of a device, whose memory the host's stands in
// for; never run with a GPU, and the direct path never over RDMA.
class UcxProxy : public RemoteProxy {
 public:
  // `on_host[r]`: rank r is on this host, and not this proxy's business. `wire` takes its messages
  // for as long as the proxy lives. All ranks of the job pass the same options and path.
  UcxProxy(Device& device, const std::vector<bool>& on_host, const DomainOptions& options,
           UcxWire& wire, ProxyPath path = ProxyPath::kStaged);

  Connection DeviceEnd(int lane, int peer) const override;
  void Connect(std::span<const int> peers, double timeout_seconds) override {
    links_->wire().Connect(peers, timeout_seconds);
  }
  void Progress() override;
  bool idle() const override;
  const std::string& failure() const override { return links_->wire().failure(); }

 private:
  using Ends = ConnectionProtocol<HostAccess>;
  // A connection as it goes through here.
  struct Passage {
    Connection* blocks = nullptr;  // the blocks are its peer
    Connection* remote = nullptr;  // the other host's rank is
  };
  void MakePassages(int lanes);
  std::byte* OnDevice(const DeviceBuffer& host, const std::byte* slot) const;
  bool SendOn(const Passage& passage) const;
  bool HandOver(const Passage& passage) const;
  bool SendFromDevice(const Passage& passage) const;
  bool AnnounceOnDevice(const Passage& passage) const;
  static bool PassTokens(const Passage& passage);

  std::size_t ranks_;
  SegmentPlan plan_;         // by number among the ranks of other hosts
  std::vector<int> number_;  // by rank, -1 for those of this host
  Device& device_;
  std::shared_ptr<DeviceBuffer> of_blocks_;  // what the blocks poll and read
  std::shared_ptr<DeviceBuffer> of_proxy_;   // what they write
  // The slots of both, one behind the other, on the device; null where they are staged.
  std::shared_ptr<DeviceBuffer> on_device_;
  std::shared_ptr<void> registered_;  // with the network cards
  std::vector<Connection> blocks_;    // [lane * ranks + peer], as the next
  std::vector<Connection> remote_;
  std::vector<Passage> passages_;
  std::unique_ptr<RemoteLinks> links_;
  std::uint64_t first_count_;
};

}  // namespace hockney
