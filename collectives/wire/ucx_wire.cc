#include "collectives/wire/ucx_wire.h"

#include <fmt/format.h>
#include <sched.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

#include "collectives/wire/endpoint_text.h"
#include "collectives/wire/ucx_context.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/deadline.h"
#include "topology/session.h"

namespace hockney {
namespace {

// What moves the messages of one or more wires.
struct Engine {
  UcxContext context;
  UcxWorker worker;
  unsigned wires = 0;  // that it has had; each has active messages of its own number
};

std::uint64_t AgreeNonce(Session& session) {
  std::random_device random;
  std::uint64_t nonce = (static_cast<std::uint64_t>(random()) << 32) | random();
  session.Broadcast(std::as_writable_bytes(std::span(&nonce, 1)), 0);
  return nonce;
}

}  // namespace

class UcxWire::Impl {
 public:
  // An engine that is new starts with Start.
  Impl(Session& session, std::vector<std::string> hosts, std::shared_ptr<Engine> engine);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  void Start(Session& session, const std::string& interfaces);
  ucs_status_t TakeMessages(bool on);
  void SetReceiver(WireReceiver* receiver, Memory memory);
  const std::shared_ptr<Engine>& engine() const { return engine_; }
  void Connect(std::span<const int> peers, double timeout_seconds);
  void Send(int peer, WireSend& send, std::span<const std::byte> data);
  void Progress();
  bool StartReceive(const WireHeader& header, void* description);
  std::string EndpointText(int peer) const;
  std::vector<int> Connected() const;

  std::string failure;

 private:
  struct Peer {
    Impl* wire = nullptr;
    int rank = 0;
    ucp_ep_h endpoint = nullptr;
    bool answered = false;      // its hello has come
    bool connected = false;     // and ours has gone
    bool send_eagerly = false;  // no rendezvous, whose round trip costs more than a copy over TCP
    WireSend hello{};
  };
  // A large message whose data is on its way here.
  struct Incoming {
    Impl* wire = nullptr;
    WireHeader header{};
  };

  // NOLINTNEXTLINE(readability-function-size): UCX's signature
  static ucs_status_t TakeMessage(void* self, const void* header, std::size_t header_bytes,
                                  void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
  static void EndSend(void* request, ucs_status_t status, void* send);
  static void EndReceive(void* request, ucs_status_t status, std::size_t bytes, void* incoming);
  static void EndPeer(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  ucs_status_t Take(const WireHeader& header, void* data, std::size_t bytes, bool is_description);
  void Open(Peer& peer);
  void Fail(int rank, ucs_status_t status);
  std::string Silent(std::span<const int> peers, double timeout_seconds) const;

  int rank_;
  std::vector<std::string> hosts_;
  WireReceiver* receiver_ = nullptr;
  Memory memory_ = Memory::kHost;
  std::uint64_t nonce_ = 0;
  std::shared_ptr<Engine> engine_;
  unsigned message_id_ = 0;
  std::vector<std::vector<std::byte>> addresses_;
  std::vector<Peer> peers_;
};

UcxWire::Impl::Impl(Session& session, std::vector<std::string> hosts,
                    std::shared_ptr<Engine> engine)
    : rank_(session.rank()),
      hosts_(std::move(hosts)),
      engine_(std::move(engine)),
      peers_(session.ranks()) {}

void UcxWire::Impl::Start(Session& session, const std::string& interfaces) {
  std::vector<std::byte> address;
  RunOnAllOrThrow(session, [&] {
    try {
      if (engine_->worker == nullptr) {
        engine_->context = MakeUcxContext(interfaces);
        engine_->worker = MakeUcxWorker(engine_->context.get());
      }
      address = AddressOfWorker(engine_->worker.get());
    } catch (const BackendError& error) {
      throw EnvironmentError(fmt::format("UCX finds no way between hosts on {}: {}{}",
                                         hosts_[rank_], error.what(), UsersUcxChoice()));
    }
  });
  message_id_ = ++engine_->wires;
  HOCKNEY_CHECK(TakeMessages(true));
  nonce_ = AgreeNonce(session);
  addresses_ = session.AllGather(address);
  for (int r = 0; r < session.ranks(); ++r) {
    peers_[r].wire = this;
    peers_[r].rank = r;
  }
}

ucs_status_t UcxWire::Impl::TakeMessages(bool on) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = message_id_;
  handler.cb = on ? TakeMessage : nullptr;
  handler.arg = this;
  if (memory_ != Memory::kHost) {
    handler.field_mask |= UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
  }
  return ucp_worker_set_am_recv_handler(engine_->worker.get(), &handler);
}

void UcxWire::Impl::SetReceiver(WireReceiver* receiver, Memory memory) {
  receiver_ = receiver;
  if (receiver == nullptr || memory == memory_) return;
  memory_ = memory;
  HOCKNEY_CHECK(TakeMessages(true));
}

// Lets what is in flight leave, or closes by force where a peer is gone.
UcxWire::Impl::~Impl() {
  for (Peer& peer : peers_) {
    if (peer.endpoint == nullptr) continue;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = failure.empty() ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
    void* request = ucp_ep_close_nbx(peer.endpoint, &param);
    if (!UCS_PTR_IS_PTR(request)) continue;
    const Deadline deadline(1);
    while (ucp_request_check_status(request) == UCS_INPROGRESS && !deadline.passed()) {
      ucp_worker_progress(engine_->worker.get());
    }
    ucp_request_free(request);
  }
  // Another wire may keep the engine running.
  if (message_id_ > 0) static_cast<void>(TakeMessages(false));
}

void UcxWire::Impl::Fail(int rank, ucs_status_t status) {
  if (!failure.empty()) return;
  failure = fmt::format("rank {} (host {}) cannot reach rank {} (host {}): {}", rank_,
                        hosts_[rank_], rank, hosts_[rank], ucs_status_string(status));
}

void UcxWire::Impl::EndPeer(void* peer, ucp_ep_h, ucs_status_t status) {
  auto& lost = *static_cast<Peer*>(peer);
  lost.wire->Fail(lost.rank, status);
}

void UcxWire::Impl::Open(Peer& peer) {
  if (peer.endpoint != nullptr) return;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(addresses_[peer.rank].data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = EndPeer, .arg = &peer};
  const ucs_status_t status = ucp_ep_create(engine_->worker.get(), &params, &peer.endpoint);
  if (status != UCS_OK) {
    throw EnvironmentError(fmt::format("rank {} (host {}) has no way to rank {} (host {}): {}{}",
                                       rank_, hosts_[rank_], peer.rank, hosts_[peer.rank],
                                       ucs_status_string(status), UsersUcxChoice()));
  }
  Send(peer.rank, peer.hello, {});
}

// Both sides say hello, so that a way that leads nowhere shows here and not inside a measurement.
void UcxWire::Impl::Connect(std::span<const int> peers, double timeout_seconds) {
  std::vector<int> wanted;
  std::copy_if(peers.begin(), peers.end(), std::back_inserter(wanted),
               [this](int peer) { return !peers_[peer].connected; });
  for (const int peer : wanted) Open(peers_[peer]);
  const Deadline deadline(timeout_seconds);
  const auto answered = [this](int peer) {
    return peers_[peer].answered && !peers_[peer].hello.in_flight;
  };
  while (!std::all_of(wanted.begin(), wanted.end(), answered)) {
    Progress();
    if (!failure.empty()) throw TimeoutError(failure);
    if (deadline.passed()) throw TimeoutError(Silent(wanted, timeout_seconds));
    sched_yield();
  }
  const bool may_choose = std::getenv("UCX_RNDV_THRESH") == nullptr;
  for (const int peer : wanted) {
    peers_[peer].connected = true;
    peers_[peer].send_eagerly =
        may_choose && FindEndpointLane(EndpointText(peer)).transport == "tcp";
  }
}

std::string UcxWire::Impl::Silent(std::span<const int> peers, double timeout_seconds) const {
  std::string names;
  std::string device;
  for (const int peer : peers) {
    if (peers_[peer].answered) continue;
    names += fmt::format("{}rank {} (host {})", names.empty() ? "" : ", ", peer, hosts_[peer]);
    if (device.empty()) device = FindEndpointLane(EndpointText(peer)).device;
  }
  return fmt::format("rank {} (host {}) waited {} s for an answer over {} of {}", rank_,
                     hosts_[rank_], timeout_seconds, device.empty() ? "UCX" : device, names);
}

void UcxWire::Impl::EndSend(void* request, ucs_status_t status, void* send) {
  auto& ended = *static_cast<WireSend*>(send);
  ended.in_flight = false;
  ucp_request_free(request);
  if (status != UCS_OK) static_cast<Impl*>(ended.wire)->Fail(ended.peer, status);
}

void UcxWire::Impl::Send(int peer, WireSend& send, std::span<const std::byte> data) {
  send.header.nonce = nonce_;
  send.header.from = rank_;
  send.header.bytes = static_cast<std::uint32_t>(data.size());
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = EndSend;
  param.user_data = &send;
  if (peers_[peer].send_eagerly) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
  }
  if (memory_ == Memory::kGpu && !data.empty()) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_CUDA;
  }
  send.in_flight = true;
  send.wire = this;
  send.peer = peer;
  void* request = ucp_am_send_nbx(peers_[peer].endpoint, message_id_, &send.header,
                                  sizeof send.header, data.data(), data.size(), &param);
  if (request == nullptr) {
    send.in_flight = false;  // done at once, without a call of EndSend
  } else if (UCS_PTR_IS_ERR(request)) {
    send.in_flight = false;
    Fail(peer, UCS_PTR_STATUS(request));
  }
}

// NOLINTNEXTLINE(readability-function-size): UCX's signature
ucs_status_t UcxWire::Impl::TakeMessage(void* self, const void* header, std::size_t header_bytes,
                                        void* data, std::size_t bytes,
                                        const ucp_am_recv_param_t* param) {
  WireHeader head;
  if (header_bytes != sizeof head) return UCS_OK;  // a stranger's: dropped
  std::memcpy(&head, header, sizeof head);
  const auto& wire = *static_cast<Impl*>(self);
  const bool is_description = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 ||
                              (wire.memory_ != Memory::kHost && bytes > 0);
  return static_cast<Impl*>(self)->Take(head, data, bytes, is_description);
}

ucs_status_t UcxWire::Impl::Take(const WireHeader& header, void* data, std::size_t bytes,
                                 bool is_description) {
  const bool known = header.nonce == nonce_ && header.from >= 0 &&
                     header.from < static_cast<int>(peers_.size()) && header.bytes == bytes;
  if (!known) return UCS_OK;
  if (header.kind == WireKind::kHello) {
    peers_[header.from].answered = true;
    return UCS_OK;
  }
  if (receiver_ == nullptr) return UCS_OK;
  if (header.kind == WireKind::kCounts) {
    receiver_->Arrived(header);
    return UCS_OK;
  }
  if (is_description) return StartReceive(header, data) ? UCS_INPROGRESS : UCS_OK;
  std::byte* place = receiver_->Place(header);
  if (place == nullptr) return UCS_OK;
  if (bytes > 0) std::memcpy(place, data, bytes);
  receiver_->Arrived(header);
  return UCS_OK;
}

bool UcxWire::Impl::StartReceive(const WireHeader& header, void* description) {
  std::byte* place = receiver_->Place(header);
  if (place == nullptr) return false;
  auto incoming = std::make_unique<Incoming>(Incoming{this, header});
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv_am = EndReceive;
  if (memory_ == Memory::kGpu) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_CUDA;
  }
  param.user_data = incoming.get();
  void* request =
      ucp_am_recv_data_nbx(engine_->worker.get(), description, place, header.bytes, &param);
  if (UCS_PTR_IS_ERR(request)) {
    Fail(header.from, UCS_PTR_STATUS(request));
  } else {
    static_cast<void>(incoming.release());  // EndReceive takes it back
  }
  return true;
}

void UcxWire::Impl::EndReceive(void* request, ucs_status_t status, std::size_t, void* incoming) {
  const std::unique_ptr<Incoming> ended(static_cast<Incoming*>(incoming));
  ucp_request_free(request);
  Impl& wire = *ended->wire;
  if (status != UCS_OK) {
    wire.Fail(ended->header.from, status);
  } else if (wire.receiver_ != nullptr) {
    wire.receiver_->Arrived(ended->header);
  }
}

// Once: whoever waits comes again at once, and a look for more costs a system call over TCP.
void UcxWire::Impl::Progress() { ucp_worker_progress(engine_->worker.get()); }

std::string UcxWire::Impl::EndpointText(int peer) const {
  const ucp_ep_h endpoint = peers_[peer].endpoint;
  return endpoint == nullptr ? "" : DescribeEndpoint(endpoint);
}

std::vector<int> UcxWire::Impl::Connected() const {
  std::vector<int> ranks;
  for (const Peer& peer : peers_) {
    if (peer.connected) ranks.push_back(peer.rank);
  }
  return ranks;
}

UcxWire::UcxWire(Session& session, std::vector<std::string> hosts, const std::string& interfaces)
    : impl_(std::make_unique<Impl>(session, std::move(hosts), std::make_shared<Engine>())) {
  impl_->Start(session, interfaces);
}
UcxWire::UcxWire(Session& session, std::vector<std::string> hosts, const UcxWire& beside)
    : impl_(std::make_unique<Impl>(session, std::move(hosts), beside.impl_->engine())) {
  impl_->Start(session, "");
}
UcxWire::~UcxWire() = default;

void UcxWire::Connect(std::span<const int> peers, double timeout_seconds) {
  impl_->Connect(peers, timeout_seconds);
}
void UcxWire::SetReceiver(WireReceiver* receiver, Memory memory) {
  impl_->SetReceiver(receiver, memory);
}
int UcxWire::Version() { return UcxVersion(); }
bool UcxWire::KnowsGpuMemory() const { return KnowsCudaMemory(impl_->engine()->context.get()); }
std::shared_ptr<void> UcxWire::Register(std::span<std::byte> memory, Memory kind) {
  // The memory goes before the context does.
  const auto engine = impl_->engine();
  return {RegisterMemory(engine->context.get(), memory, kind == Memory::kGpu),
          [engine](void* handle) { Deregister(engine->context.get(), handle); }};
}
void UcxWire::Send(int peer, WireSend& send, std::span<const std::byte> data) {
  impl_->Send(peer, send, data);
}
void UcxWire::Progress() { impl_->Progress(); }
const std::string& UcxWire::failure() const { return impl_->failure; }
std::vector<int> UcxWire::connected() const { return impl_->Connected(); }
std::string UcxWire::Transport(int peer) const {
  const std::string name = FindEndpointLane(impl_->EndpointText(peer)).transport;
  return "ucx:" + (name.empty() ? "unknown" : name);
}
std::string UcxWire::Device(int peer) const {
  return FindEndpointLane(impl_->EndpointText(peer)).device;
}

}  // namespace hockney
