#include "topology/session_mpi.h"

#include <fmt/core.h>
#include <mpi.h>
#include <sched.h>

#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#include "topology/check.h"
#include "topology/deadline.h"
#include "topology/session_group.h"

namespace hockney {

// MPI writes the text into memory of the caller, which must outlive this call.
const char* StatusText(int status) {
  if (status == MPI_SUCCESS) return nullptr;
  thread_local std::array<char, MPI_MAX_ERROR_STRING> text;
  int length = 0;
  if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) return "unknown MPI error";
  return text.data();
}

namespace {

// Tests and yields until `request` is done; false when the deadline passes first.
bool WaitUntil(MPI_Request* request, const Deadline& deadline) {
  while (true) {
    int done = 0;
    HOCKNEY_CHECK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return true;
    if (deadline.passed()) return false;
    sched_yield();
  }
}

// MPI itself: started here, finalized when the last group is gone and all ranks are there for it.
class MpiWorld {
 public:
  MpiWorld(int* argc, char*** argv, double timeout_seconds) : timeout_seconds_(timeout_seconds) {
    int provided = 0;
    HOCKNEY_CHECK(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
    HOCKNEY_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    HOCKNEY_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &leaving_));
    if (provided < MPI_THREAD_FUNNELED) {
      throw EnvironmentError("this MPI has no thread support (MPI_THREAD_FUNNELED is needed)");
    }
  }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  ~MpiWorld() {
    if (!usable() || !AllRanksArrive()) return;
    MPI_Comm_free(&leaving_);
    MPI_Finalize();
  }

  double timeout_seconds() const { return timeout_seconds_; }
  // False after a time-out: a collective is still open, so no further MPI call may be made.
  bool broken() const { return broken_; }
  void MarkBroken() { broken_ = true; }
  // False also while an exception passes: the other ranks may never come to a collective call.
  bool usable() const { return !broken_ && std::uncaught_exceptions() == 0; }

 private:
  // MPI_Finalize waits for all ranks without a deadline, so a barrier with one goes before it. It
  // has its own communicator: a rank that leaves early must not complete a barrier of the others.
  bool AllRanksArrive() noexcept {
    try {
      MPI_Request request = MPI_REQUEST_NULL;
      HOCKNEY_CHECK(MPI_Ibarrier(leaving_, &request));
      return WaitUntil(&request, Deadline(timeout_seconds_));
    } catch (const std::exception&) {
      return false;
    }
  }

  double timeout_seconds_;
  MPI_Comm leaving_ = MPI_COMM_NULL;
  bool broken_ = false;
};

class MpiGroup : public Session::Group {
 public:
  // Frees `communicator` in the end unless it is MPI_COMM_WORLD.
  MpiGroup(std::shared_ptr<MpiWorld> world, MPI_Comm communicator)
      : world_(std::move(world)), communicator_(communicator) {
    HOCKNEY_CHECK(MPI_Comm_rank(communicator_, &rank_));
    HOCKNEY_CHECK(MPI_Comm_size(communicator_, &ranks_));
  }
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;
  ~MpiGroup() override {
    if (communicator_ != MPI_COMM_WORLD && world_->usable()) MPI_Comm_free(&communicator_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  RankKind kind() const override { return RankKind::kProcesses; }
  double timeout_seconds() const override { return world_->timeout_seconds(); }
  const void* mpi_communicator() const override { return &communicator_; }

  void Barrier() override { Arrive("Barrier"); }
  void Broadcast(std::span<std::byte> bytes, int root) override;
  std::vector<std::vector<std::byte>> AllGather(std::span<const std::byte> mine) override;
  std::vector<std::shared_ptr<const void>> AllGatherShared(std::shared_ptr<const void>) override {
    throw std::logic_error("AllGatherShared: processes cannot share a pointer");
  }
  std::shared_ptr<Group> Split(int color, int key) override;
  std::shared_ptr<Group> SplitSharedMemory() override;

 private:
  void RequireUsable(const char* operation) const;
  void Wait(MPI_Request* request, const char* operation);
  void Arrive(const char* operation);

  std::shared_ptr<MpiWorld> world_;
  MPI_Comm communicator_;
  int rank_ = 0;
  int ranks_ = 0;
};

void MpiGroup::RequireUsable(const char* operation) const {
  if (world_->broken()) {
    throw TimeoutError(fmt::format("rank {} cannot start {}: an earlier call passed its deadline",
                                   rank_, operation));
  }
}

void MpiGroup::Wait(MPI_Request* request, const char* operation) {
  if (WaitUntil(request, Deadline(timeout_seconds()))) return;
  world_->MarkBroken();
  throw TimeoutError(fmt::format("rank {} waited {} s in {} for the other {} ranks", rank_,
                                 timeout_seconds(), operation, ranks_ - 1));
}

void MpiGroup::Arrive(const char* operation) {
  RequireUsable(operation);
  MPI_Request request = MPI_REQUEST_NULL;
  HOCKNEY_CHECK(MPI_Ibarrier(communicator_, &request));
  Wait(&request, operation);
}

void MpiGroup::Broadcast(std::span<std::byte> bytes, int root) {
  RequireUsable("Broadcast");
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = static_cast<int>(bytes.size());  // Session has checked the range
  HOCKNEY_CHECK(MPI_Ibcast(bytes.data(), count, MPI_BYTE, root, communicator_, &request));
  Wait(&request, "Broadcast");
}

std::vector<std::vector<std::byte>> MpiGroup::AllGather(std::span<const std::byte> mine) {
  RequireUsable("AllGather");
  const std::uint64_t my_bytes = mine.size();
  std::vector<std::uint64_t> all_bytes(ranks_);
  MPI_Request request = MPI_REQUEST_NULL;
  HOCKNEY_CHECK(MPI_Iallgather(&my_bytes, 1, MPI_UINT64_T, all_bytes.data(), 1, MPI_UINT64_T,
                               communicator_, &request));
  Wait(&request, "AllGather");

  std::vector<int> counts(ranks_);
  std::vector<int> offsets(ranks_);
  std::uint64_t total = 0;
  for (int r = 0; r < ranks_; ++r) {
    if (all_bytes[r] > kMaxBytes - total) {  // seen by every rank alike, so all throw
      throw std::invalid_argument(fmt::format(
          "AllGather: {} bytes of rank {} and {} of the ranks before it, at most {} fit",
          all_bytes[r], r, total, kMaxBytes));
    }
    counts[r] = static_cast<int>(all_bytes[r]);
    offsets[r] = static_cast<int>(total);
    total += all_bytes[r];
  }
  std::vector<std::byte> gathered(total);
  HOCKNEY_CHECK(MPI_Iallgatherv(mine.data(), counts[rank_], MPI_BYTE, gathered.data(),
                                counts.data(), offsets.data(), MPI_BYTE, communicator_, &request));
  Wait(&request, "AllGather");

  std::vector<std::vector<std::byte>> result(ranks_);
  for (int r = 0; r < ranks_; ++r) {
    const auto begin = gathered.begin() + offsets[r];
    result[r].assign(begin, begin + counts[r]);
  }
  return result;
}

// MPI 3 has no split with a deadline. It blocks only on ranks that are late, so all meet first.
std::shared_ptr<Session::Group> MpiGroup::Split(int color, int key) {
  Arrive("Split");
  MPI_Comm part = MPI_COMM_NULL;
  HOCKNEY_CHECK(MPI_Comm_split(communicator_, color, key, &part));
  return std::make_shared<MpiGroup>(world_, part);
}

std::shared_ptr<Session::Group> MpiGroup::SplitSharedMemory() {
  Arrive("SplitSharedMemory");
  MPI_Comm part = MPI_COMM_NULL;
  HOCKNEY_CHECK(
      MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part));
  return std::make_shared<MpiGroup>(world_, part);
}

}  // namespace

Session Session::StartMpi(int* argc, char*** argv, double timeout_seconds) {
  auto world = std::make_shared<MpiWorld>(argc, argv, timeout_seconds);
  return Session(std::make_shared<MpiGroup>(std::move(world), MPI_COMM_WORLD));
}

}  // namespace hockney
