#include "collectives/executors/cuda/ucx_proxy.h"

#include <algorithm>
#include <cstring>

namespace hockney {
namespace {

int CountOthers(const std::vector<bool>& on_host) {
  return static_cast<int>(std::count(on_host.begin(), on_host.end(), false));
}

}  // namespace

UcxProxy::UcxProxy(Device& device, const std::vector<bool>& on_host, const DomainOptions& options,
                   UcxWire& wire)
    : ranks_(on_host.size()),
      plan_(options.lanes, CountOthers(on_host), options.limits),
      number_(ranks_, -1),
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
  const Connection::Counts start = {first_count_, first_count_, first_count_, first_count_};
  for (int lane = 0; lane < options.lanes; ++lane) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (number_[rank] < 0) continue;
      const std::size_t i = lane * ranks_ + rank;
      blocks_[i] = plan_.Join(lane, {number_[rank], of_proxy_->data()},
                              {number_[rank], of_blocks_->data()}, first_count_);
      remote_[i].slots = remote_[i].packets = remote_[i].tokens = start;
      passages_.push_back({&blocks_[i], &remote_[i]});
    }
  }
  links_ = std::make_unique<RemoteLinks>(wire, remote_, on_host, options.limits, first_count_);
}

Connection UcxProxy::DeviceEnd(int lane, int peer) const {
  const int number = number_.at(peer);
  Connection end =
      plan_.Join(lane, {number, of_blocks_->data()}, {number, of_proxy_->data()}, first_count_);
  end.by_proxy = true;
  return end;
}

// The blocks' next message goes into the wire.
bool UcxProxy::SendOn(const Passage& passage) const {
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
  return std::ranges::none_of(passages_, [](const Passage& passage) {
    return Ends::MessageReady(*passage.blocks) || Ends::TokenReady(*passage.blocks);
  });
}

}  // namespace hockney
