#pragma once

#include <memory>
#include <vector>

#include "collectives/executors/connection_protocol.h"
#include "collectives/executors/cuda/device.h"
#include "collectives/executors/cuda/remote_proxy.h"
#include "collectives/executors/host/remote_links.h"
#include "collectives/executors/segment_plan.h"

namespace hockney {

// A proxy over UCX. Each message is copied once here ("staged"): between memory of the host that
// the blocks write and read, and the wire's. Tested with threads in place of a device; never run
// with a GPU.
class UcxProxy : public RemoteProxy {
 public:
  // `on_host[r]`: rank r is on this host, and not this proxy's business. `wire` takes its messages
  // for as long as the proxy lives. All ranks of the job pass the same options.
  UcxProxy(Device& device, const std::vector<bool>& on_host, const DomainOptions& options,
           UcxWire& wire);

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
  bool SendOn(const Passage& passage) const;
  bool HandOver(const Passage& passage) const;
  static bool PassTokens(const Passage& passage);

  std::size_t ranks_;
  SegmentPlan plan_;                         // by number among the ranks of other hosts
  std::vector<int> number_;                  // by rank, -1 for those of this host
  std::shared_ptr<DeviceBuffer> of_blocks_;  // what the blocks poll and read
  std::shared_ptr<DeviceBuffer> of_proxy_;   // what they write
  std::vector<Connection> blocks_;           // [lane * ranks + peer], as the next
  std::vector<Connection> remote_;
  std::vector<Passage> passages_;
  std::unique_ptr<RemoteLinks> links_;
  std::uint64_t first_count_;
};

}  // namespace hockney
