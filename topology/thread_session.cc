#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "topology/check.h"
#include "topology/concat.h"
#include "topology/deadline.h"
#include "topology/session_group.h"

namespace hockney {
namespace {

using Pointers = std::vector<std::shared_ptr<const void>>;
using Bytes = std::vector<std::byte>;

// What all ranks of one run share. One lock for the run and all its splits, so that one call wakes
// every waiter when a rank fails.
struct Run {
  explicit Run(double timeout) : timeout_seconds(timeout) {}

  // Releases all waiters. The first failure is the one that counts; the others follow from it.
  void Fail(const std::string& reason, std::exception_ptr exception) {
    const std::lock_guard lock(mutex);
    if (failure.empty()) failure = reason;
    failed.store(true, std::memory_order_release);
    if (!first_exception) first_exception = std::move(exception);
    changed.notify_all();
  }

  const double timeout_seconds;
  std::mutex mutex;
  std::condition_variable changed;
  std::string failure;  // empty while all is well
  std::atomic<bool> failed = false;
  std::exception_ptr first_exception;
};

// The meeting point of the ranks of one session; guarded by Run::mutex.
struct Meeting {
  explicit Meeting(int rank_count) : arrived(rank_count), slots(rank_count) {}

  std::vector<bool> arrived;
  Pointers slots;
  Pointers published;  // of the last complete round; all have read it before the next completes
  long rounds = 0;
};

class ThreadGroup : public Session::Group {
 public:
  ThreadGroup(std::shared_ptr<Run> run, std::shared_ptr<Meeting> meeting, int rank)
      : run_(std::move(run)), meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(meeting_->slots.size()); }
  RankKind kind() const override { return RankKind::kThreads; }
  double timeout_seconds() const override { return run_->timeout_seconds; }
  const void* mpi_communicator() const override { return nullptr; }
  bool peer_failed() const override { return run_->failed.load(std::memory_order_acquire); }

  void Barrier() override { Exchange(nullptr, "Barrier"); }
  void Broadcast(std::span<std::byte> bytes, int root) override;
  std::vector<Bytes> AllGather(std::span<const std::byte> mine) override;
  Pointers AllGatherShared(std::shared_ptr<const void> mine) override {
    return Exchange(std::move(mine), "AllGatherShared");
  }
  std::shared_ptr<Group> Split(int color, int key) override;
  std::shared_ptr<Group> SplitSharedMemory() override { return Split(0, rank_); }

 private:
  Pointers Exchange(std::shared_ptr<const void> mine, const char* operation);
  void RequireNoFailure(const char* operation) const;
  [[noreturn]] void TimeOut(const char* operation);

  std::shared_ptr<Run> run_;
  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

// The one primitive: waits for all ranks and returns what each passed.
Pointers ThreadGroup::Exchange(std::shared_ptr<const void> mine, const char* operation) {
  const Deadline deadline(run_->timeout_seconds);
  Meeting& meeting = *meeting_;
  std::unique_lock lock(run_->mutex);
  RequireNoFailure(operation);
  meeting.slots[rank_] = std::move(mine);
  meeting.arrived[rank_] = true;
  if (std::find(meeting.arrived.begin(), meeting.arrived.end(), false) == meeting.arrived.end()) {
    meeting.published = std::exchange(meeting.slots, Pointers(meeting.slots.size()));
    std::fill(meeting.arrived.begin(), meeting.arrived.end(), false);
    ++meeting.rounds;
    run_->changed.notify_all();
    return meeting.published;
  }
  const long round = meeting.rounds;
  const auto released = [&] { return meeting.rounds != round || !run_->failure.empty(); };
  if (!run_->changed.wait_until(lock, deadline.time(), released)) TimeOut(operation);
  if (meeting.rounds == round) RequireNoFailure(operation);
  return meeting.published;
}

// Called with the lock held.
void ThreadGroup::RequireNoFailure(const char* operation) const {
  if (!run_->failure.empty()) {
    throw TimeoutError(Concat("rank ", rank_, " left ", operation, " because ", run_->failure));
  }
}

// Called with the lock held.
void ThreadGroup::TimeOut(const char* operation) {
  std::string missing;
  for (int r = 0; r < ranks(); ++r) {
    if (!meeting_->arrived[r]) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
  }
  run_->failure = Concat("rank ", rank_, " waited ", run_->timeout_seconds, " s in ", operation,
                         " for rank ", missing);
  run_->changed.notify_all();
  throw TimeoutError(run_->failure);
}

void ThreadGroup::Broadcast(std::span<std::byte> bytes, int root) {
  std::shared_ptr<const Bytes> sent;
  if (rank_ == root) sent = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  const Pointers all = Exchange(std::move(sent), "Broadcast");
  const auto& received = *static_cast<const Bytes*>(all[root].get());
  if (received.size() != bytes.size()) {
    throw std::invalid_argument(Concat("Broadcast: rank ", rank_, " passed ", bytes.size(),
                                       " bytes, root ", root, " ", received.size()));
  }
  std::copy(received.begin(), received.end(), bytes.begin());
}

std::vector<Bytes> ThreadGroup::AllGather(std::span<const std::byte> mine) {
  const Pointers all =
      Exchange(std::make_shared<const Bytes>(mine.begin(), mine.end()), "AllGather");
  std::vector<Bytes> result;
  std::size_t total = 0;
  for (const auto& pointer : all) {
    result.push_back(*static_cast<const Bytes*>(pointer.get()));
    total += result.back().size();
  }
  if (total > kMaxBytes) {
    throw std::invalid_argument(
        Concat("AllGather: ", total, " bytes together, at most ", kMaxBytes, " fit"));
  }
  return result;
}

std::shared_ptr<Session::Group> ThreadGroup::Split(int color, int key) {
  const Pointers all =
      Exchange(std::make_shared<const SplitChoice>(SplitChoice{color, key}), "Split");
  std::vector<SplitChoice> choices;
  for (const auto& choice : all) choices.push_back(*static_cast<const SplitChoice*>(choice.get()));
  const std::vector<int> part = FindPart(choices, color);
  const auto mine = std::find(part.begin(), part.end(), rank_);
  const int leader = part.front();

  // The leader's meeting point serves its part. It is only const on the way, being made mutable.
  std::shared_ptr<Meeting> meeting;
  if (rank_ == leader) meeting = std::make_shared<Meeting>(static_cast<int>(part.size()));
  const Pointers meetings = Exchange(std::move(meeting), "Split");
  return std::make_shared<ThreadGroup>(
      run_,
      std::const_pointer_cast<Meeting>(std::static_pointer_cast<const Meeting>(meetings[leader])),
      static_cast<int>(mine - part.begin()));
}

void RunRank(const std::shared_ptr<Run>& run, std::shared_ptr<Meeting> meeting, int rank,
             const std::function<void(Session&)>& body) {
  try {
    Session session(std::make_shared<ThreadGroup>(run, std::move(meeting), rank));
    body(session);
  } catch (const std::exception& exception) {
    run->Fail(Concat("rank ", rank, " failed: ", exception.what()), std::current_exception());
  } catch (...) {
    run->Fail(Concat("rank ", rank, " failed"), std::current_exception());
  }
}

}  // namespace

void RunThreadRanks(int ranks, double timeout_seconds, const std::function<void(Session&)>& body) {
  if (ranks < 1) throw std::invalid_argument(Concat(ranks, " rank threads"));
  const auto run = std::make_shared<Run>(timeout_seconds);
  const auto meeting = std::make_shared<Meeting>(ranks);
  {
    std::vector<std::jthread> threads;
    try {
      for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { RunRank(run, meeting, rank, body); });
      }
    } catch (const std::system_error& error) {
      const auto text = Concat("rank thread ", threads.size(), " did not start: ", error.what());
      run->Fail(text, std::make_exception_ptr(EnvironmentError(text)));
    }
  }
  if (run->first_exception) std::rethrow_exception(run->first_exception);
}

}  // namespace hockney
