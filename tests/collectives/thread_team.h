#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>

#include "collectives/executors/connection_protocol.h"

namespace hockney::testing {

// A block of threads of a CPU, as a Team of BlockMachine (block_machine.h): each thread has one and
// all share the meeting.
class ThreadTeam {
 public:
  using Access = HostAccess;

  class Meeting {
   public:
    explicit Meeting(int threads) : barrier_(threads) {}

   private:
    friend class ThreadTeam;
    std::barrier<> barrier_;
    // Said by Any, in turns: one that is asked, one that may still be read, one that is clean.
    std::atomic<bool> any_[3]{};
  };

  ThreadTeam(Meeting& meeting, int thread, int threads)
      : meeting_(meeting), thread_(thread), threads_(threads) {}

  int thread() const { return thread_; }
  int threads() const { return threads_; }
  void Sync() { meeting_.barrier_.arrive_and_wait(); }
  bool Any(bool mine) {
    std::atomic<bool>& said = meeting_.any_[turn_ % 3];
    if (mine) said.store(true, std::memory_order_relaxed);
    Sync();
    // All have read the one before by now.
    if (thread_ == 0) meeting_.any_[(turn_ + 2) % 3].store(false, std::memory_order_relaxed);
    ++turn_;
    return said.load(std::memory_order_relaxed);
  }

 private:
  Meeting& meeting_;
  int thread_;
  int threads_;
  std::size_t turn_ = 0;
};

}  // namespace hockney::testing
