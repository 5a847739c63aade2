#include "collectives/executors/host/remote_links.h"

#include <algorithm>
#include <new>

namespace hockney {
namespace {

constexpr std::size_t kAlignment = 4096;

// Counts wrap, so they are compared by their distance.
bool IsAfter(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) > 0; }

// One thread writes and reads these counters, which only share their form with shared memory.
void Raise(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  if (IsAfter(value, counter.load(std::memory_order_relaxed))) {
    counter.store(value, std::memory_order_relaxed);
  }
}

}  // namespace

RemoteEnd::RemoteEnd(RemoteLinks& links, int peer, int lane, Connection& connection,
                     std::byte* memory)
    : links_(links),
      connection_(connection),
      peer_(peer),
      credits_told_(links.first_count()),
      sends_(links.slots()),
      lengths_(links.slots()),
      placed_(links.slots()),
      arrived_(links.slots()) {
  StartCounters(counters_, links.first_count());
  connection.remote = this;
  connection.here = &counters_;
  if (memory != nullptr) {
    connection.inbox = memory;
    connection.outbox = memory + links.slots() * links.limits().slot_bytes;
  }
  for (WireSend& send : sends_) send.header = {.kind = WireKind::kData, .lane = lane};
  counts_.header = {.kind = WireKind::kCounts, .lane = lane};
}

bool RemoteEnd::CreditReady() {
  Connection::Counts& counts = connection_.slots;
  counts.seen_read = counters_.slot_credits.value.load(std::memory_order_relaxed);
  return counts.sent - counts.seen_read < sends_.size() && !sends_[SlotOf(counts.sent)].in_flight;
}

void RemoteEnd::FillCounts(WireHeader& header) {
  header.tokens = connection_.tokens.sent;
  header.credits = connection_.slots.read;
  credits_told_ = header.credits;
}

void RemoteEnd::Send(WireSend& send, std::span<const std::byte> data) {
  FillCounts(send.header);
  links_.wire().Send(peer_, send, data);
  if (!send.in_flight || noted_) return;
  noted_ = true;
  links_.Note(*this);
}

// Counts are totals, so while some are on their way newer ones can wait for them.
void RemoteEnd::SendCounts() {
  counts_wanted_ = counts_.in_flight;
  if (!counts_wanted_) Send(counts_, {});
}

void RemoteEnd::GiveToken() {
  ++connection_.tokens.sent;
  SendCounts();
}

void RemoteEnd::Sent() {
  const std::uint64_t message = connection_.slots.sent++;
  WireSend& send = sends_[SlotOf(message)];
  send.header.sequence = message;
  const std::byte* data = connection_.outbox + SlotOf(message) * links_.limits().slot_bytes;
  Send(send, {data, send.header.bytes});
}

void RemoteEnd::Consumed() {
  const std::uint64_t read = ++connection_.slots.read;
  if (read - credits_told_ >= sends_.size() / 2) SendCounts();
}

bool RemoteEnd::Settle() {
  if (counts_wanted_) SendCounts();
  const bool idle =
      !counts_.in_flight &&
      std::none_of(sends_.begin(), sends_.end(), [](const WireSend& s) { return s.in_flight; });
  noted_ = !idle;
  return idle;
}

std::byte* RemoteEnd::Place(const WireHeader& header) {
  const std::size_t slot = SlotOf(header.sequence);
  const std::uint64_t announced = counters_.slot_messages.value.load(std::memory_order_relaxed);
  const bool expected = !IsAfter(announced, header.sequence) &&
                        header.sequence - connection_.slots.read < sends_.size() && !placed_[slot];
  if (!expected || header.bytes > links_.limits().slot_bytes) return nullptr;
  placed_[slot] = true;
  lengths_[slot] = header.bytes;
  return connection_.inbox + slot * links_.limits().slot_bytes;
}

void RemoteEnd::Arrived(const WireHeader& header) {
  Raise(counters_.tokens.value, header.tokens);
  if (!IsAfter(header.credits, connection_.slots.sent)) {
    Raise(counters_.slot_credits.value, header.credits);
  }
  if (header.kind != WireKind::kData) return;
  arrived_[SlotOf(header.sequence)] = true;
  std::uint64_t next = counters_.slot_messages.value.load(std::memory_order_relaxed);
  for (; arrived_[SlotOf(next)]; ++next) {
    arrived_[SlotOf(next)] = false;
    placed_[SlotOf(next)] = false;
  }
  counters_.slot_messages.value.store(next, std::memory_order_relaxed);
}

RemoteLinks::RemoteLinks(UcxWire& wire, std::span<Connection> connections,
                         const std::vector<bool>& on_host, const DomainOptions& options,
                         UcxWire::Memory kind)
    : wire_(wire),
      connections_(connections),
      ranks_(on_host.size()),
      limits_(options.limits),
      first_count_(options.first_count),
      has_own_slots_(kind == UcxWire::Memory::kHost),
      memory_(nullptr, std::free) {
  const std::size_t lanes = connections.size() / ranks_;
  const auto remote =
      static_cast<std::size_t>(std::count(on_host.begin(), on_host.end(), false)) * lanes;
  if (has_own_slots_) {
    const std::size_t bytes = (remote * end_bytes() + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  std::byte* memory = memory_.get();
  ends_.reserve(remote);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const std::size_t peer = i % ranks_;
    if (on_host[peer]) continue;
    ends_.push_back(std::make_unique<RemoteEnd>(
        *this, static_cast<int>(peer), static_cast<int>(i / ranks_), connections[i], memory));
    if (memory != nullptr) memory += end_bytes();
  }
  wire.SetReceiver(this, kind);
}

RemoteLinks::~RemoteLinks() { wire_.SetReceiver(nullptr); }

void RemoteLinks::Progress() {
  wire_.Progress();
  std::erase_if(busy_, [](RemoteEnd* end) { return end->Settle(); });
}

RemoteEnd* RemoteLinks::Find(const WireHeader& header) const {
  const std::size_t lanes = connections_.size() / ranks_;
  if (header.lane < 0 || static_cast<std::size_t>(header.lane) >= lanes) return nullptr;
  return connections_[static_cast<std::size_t>(header.lane) * ranks_ + header.from].remote;
}

std::byte* RemoteLinks::Place(const WireHeader& header) {
  RemoteEnd* end = Find(header);
  return end == nullptr ? nullptr : end->Place(header);
}

void RemoteLinks::Arrived(const WireHeader& header) {
  if (RemoteEnd* end = Find(header)) end->Arrived(header);
}

}  // namespace hockney
