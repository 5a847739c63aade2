#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hockney {

// Something that happens at a time. Equal times come in the order they were pushed, so that a
// simulation is the same every time.
struct SimEvent {
  double seconds = 0;
  std::uint32_t order = 0;
  std::uint32_t what = 0;    // kind and version, as its maker packs them
  std::uint32_t target = 0;  // lane, flow or resource
};

// A heap of four children a node: half the depth of a binary one, whose levels miss the cache.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  const SimEvent& top() const { return heap_.front(); }

  void Push(double seconds, std::uint32_t what, std::uint32_t target) {
    heap_.push_back({seconds, next_++, what, target});
    std::size_t at = heap_.size() - 1;
    const SimEvent moving = heap_[at];
    while (at > 0) {
      const std::size_t above = (at - 1) / kChildren;
      if (!Before(moving, heap_[above])) break;
      heap_[at] = heap_[above];
      at = above;
    }
    heap_[at] = moving;
  }

  SimEvent Pop() {
    const SimEvent first = heap_.front();
    const SimEvent moving = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return first;
    std::size_t at = 0;
    for (;;) {
      const std::size_t begin = at * kChildren + 1;
      if (begin >= size) break;
      std::size_t least = begin;
      const std::size_t end = begin + kChildren < size ? begin + kChildren : size;
      for (std::size_t child = begin + 1; child < end; ++child) {
        if (Before(heap_[child], heap_[least])) least = child;
      }
      if (!Before(heap_[least], moving)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = moving;
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;
  // Orders wrap after 2^32 events; those that are in the heap together are far closer.
  static bool Before(const SimEvent& a, const SimEvent& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds
                                  : static_cast<std::int32_t>(a.order - b.order) < 0;
  }

  std::vector<SimEvent> heap_;
  std::uint32_t next_ = 0;
};

}  // namespace hockney
