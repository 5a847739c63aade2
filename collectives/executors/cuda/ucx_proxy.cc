#include "collectives/executors/cuda/ucx_proxy.h"

#include <algorithm>
#include <cstring>

namespace hockney {
namespace {

int CountOthers(const std::vector<bool>& on_host) {
  return static_cast<int>(std::count(on_host.begin(), on_host.end(), false));
}

// Whether the peer of `c` has sent the message of this number.
bool HasMore(const Connection& c, std::uint64_t message) {
  return HostAccess::Acquire(c.here->slot_messages.value) != message;
}

}  // namespace

UcxProxy::UcxProxy(Device& device, const std::vector<bool>& on_host, const DomainOptions& options,
                   UcxWire& wire, ProxyPath path)
    : ranks_(on_host.size()),
      plan_(options.lanes, CountOthers(on_host), options.limits),
      number_(ranks_, -1),
      device_(device),
      of_blocks_(device.AllocateOnHost(plan_.ControlBytes())),
      of_proxy_(device.AllocateOnHost(plan_.ControlBytes())),
      blocks_(ranks_ * options.lanes),
      remote_(blocks_.size()),
      first_count_(options.first_count) {
  int next = 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (!on_host[rank]) number_[rank] = next++;
  }
  plan_.MakeCounters(of_blocks_->data(), first_count_);
  plan_.MakeCounters(of_proxy_->data(), first_count_);
  const bool is_gpu = device.stream() != nullptr;
  const auto memory = path == ProxyPath::kStaged ? UcxWire::Memory::kHost
                      : is_gpu                   ? UcxWire::Memory::kGpu
                                                 : UcxWire::Memory::kByUcx;
  if (path == ProxyPath::kDirect) {
    on_device_ = device.Allocate(2 * plan_.ControlBytes(), PeerMemoryKind::kCudaIpc);
    registered_ = wire.Register({on_device_->data(), on_device_->bytes()}, memory);
  }
  MakePassages(options.lanes);
  links_ = std::make_unique<RemoteLinks>(wire, remote_, on_host, options, memory);
}

void UcxProxy::MakePassages(int lanes) {
  const Connection::Counts start = {first_count_, first_count_, first_count_, first_count_};
  for (int lane = 0; lane < lanes; ++lane) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (number_[rank] < 0) continue;
      const std::size_t i = lane * ranks_ + rank;
      blocks_[i] = plan_.Join(lane, {number_[rank], of_proxy_->data()},
                              {number_[rank], of_blocks_->data()}, first_count_);
      remote_[i].slots = remote_[i].packets = remote_[i].tokens = start;
      if (on_device_ != nullptr) {
        remote_[i].inbox = OnDevice(*of_blocks_, blocks_[i].outbox);
        remote_[i].outbox = OnDevice(*of_proxy_, blocks_[i].inbox);
      }
      passages_.push_back({&blocks_[i], &remote_[i]});
    }
  }
}

// Where the slot of a host's buffer lies on the device.
std::byte* UcxProxy::OnDevice(const DeviceBuffer& host, const std::byte* slot) const {
  const std::size_t before = &host == of_blocks_.get() ? 0 : plan_.ControlBytes();
  return on_device_->data() + before + (slot - host.data());
}

Connection UcxProxy::DeviceEnd(int lane, int peer) const {
  const int number = number_.at(peer);
  Connection end =
      plan_.Join(lane, {number, of_blocks_->data()}, {number, of_proxy_->data()}, first_count_);
  if (on_device_ != nullptr) {
    end.inbox = OnDevice(*of_blocks_, end.inbox);
    end.outbox = OnDevice(*of_proxy_, end.outbox);
  }
  end.by_proxy = true;
  return end;
}

// Like the two below without a copy: a message stays in the block's slot until it has left, and is
// brought into one that the blocks have read. Both ends of a passage count the same messages.
bool UcxProxy::SendFromDevice(const Passage& passage) const {
  Connection& from = *passage.blocks;
  Connection& to = *passage.remote;
  bool moved = false;
  while (from.slots.read != to.slots.sent && to.remote->HasLeft(from.slots.read)) {
    Ends::Consumed(from, false);
    moved = true;
  }
  if (!HasMore(from, to.slots.sent) || !to.remote->CreditReady()) return moved;
  const std::size_t slot = to.slots.sent & (plan_.limits().slots - 1);
  to.remote->SetMessageBytes(to.slots.sent, Ends::MessageBytes(from, slot));
  to.remote->Sent();
  return true;
}

bool UcxProxy::AnnounceOnDevice(const Passage& passage) const {
  Connection& from = *passage.remote;
  Connection& to = *passage.blocks;
  bool moved = false;
  to.slots.seen_read = HostAccess::Acquire(to.here->slot_credits.value);
  while (from.slots.read != to.slots.seen_read) {
    from.remote->Consumed();
    moved = true;
  }
  if (!HasMore(from, to.slots.sent)) return moved;
  const std::size_t slot = to.slots.sent & (plan_.limits().slots - 1);
  device_.FlushRemoteWrites();
  Ends::SetMessageBytes(to, slot,
                        static_cast<std::uint32_t>(from.remote->MessageBytes(to.slots.sent)));
  Ends::Sent(to);
  return true;
}

// The blocks' next message goes into the wire.
bool UcxProxy::SendOn(const Passage& passage) const {
  if (on_device_ != nullptr) return SendFromDevice(passage);
  Connection& from = *passage.blocks;
  Connection& to = *passage.remote;
  if (!Ends::MessageReady(from) || !to.remote->CreditReady()) return false;
  const std::size_t slot = from.slots.read & (plan_.limits().slots - 1);
  const std::size_t bytes = Ends::MessageBytes(from, slot);
  const std::size_t slot_bytes = plan_.limits().slot_bytes;
  std::memcpy(to.outbox + to.remote->SlotOf(to.slots.sent) * slot_bytes,
              from.inbox + slot * slot_bytes, bytes);
  to.remote->SetMessageBytes(to.slots.sent, bytes);
  to.remote->Sent();
  Ends::Consumed(from, false);
  return true;
}

// The wire's next message goes to the blocks.
bool UcxProxy::HandOver(const Passage& passage) const {
  if (on_device_ != nullptr) return AnnounceOnDevice(passage);
  Connection& from = *passage.remote;
  Connection& to = *passage.blocks;
  const auto slots = static_cast<std::uint64_t>(plan_.limits().slots);
  if (!Ends::MessageReady(from) || !Ends::CreditReady(to, false, slots)) return false;
  const std::size_t bytes = from.remote->MessageBytes(from.slots.read);
  const std::size_t slot_bytes = plan_.limits().slot_bytes;
  const std::size_t slot = to.slots.sent & (slots - 1);
  std::memcpy(to.outbox + slot * slot_bytes,
              from.inbox + from.remote->SlotOf(from.slots.read) * slot_bytes, bytes);
  Ends::SetMessageBytes(to, slot, static_cast<std::uint32_t>(bytes));
  Ends::Sent(to);
  from.remote->Consumed();
  return true;
}

bool UcxProxy::PassTokens(const Passage& passage) {
  bool moved = false;
  while (Ends::TokenReady(*passage.blocks)) {
    Ends::TakeToken(*passage.blocks);
    passage.remote->remote->GiveToken();
    moved = true;
  }
  while (Ends::TokenReady(*passage.remote)) {
    Ends::TakeToken(*passage.remote);
    Ends::GiveToken(*passage.blocks);
    moved = true;
  }
  return moved;
}

void UcxProxy::Progress() {
  links_->Progress();
  for (const Passage& passage : passages_) {
    bool moved = true;
    while (moved) {
      moved = SendOn(passage);
      moved = HandOver(passage) || moved;
      moved = PassTokens(passage) || moved;
    }
  }
}

bool UcxProxy::idle() const {
  if (!links_->idle()) return false;
  return std::ranges::none_of(passages_, [this](const Passage& passage) {
    const bool is_leaving = on_device_ == nullptr
                                ? Ends::MessageReady(*passage.blocks)
                                : HasMore(*passage.blocks, passage.blocks->slots.read);
    return is_leaving || Ends::TokenReady(*passage.blocks);
  });
}

}  // namespace hockney
