#include "topology/process_ranks.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "topology/check.h"
#include "topology/concat.h"

namespace hockney {
namespace {

const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

constexpr std::chrono::seconds kGrace{2};

// Blocks the signals that the parent waits for; a child gets back what was before.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&waited_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&waited_, signal);
    HOCKNEY_CHECK(sigprocmask(SIG_BLOCK, &waited_, &before_));
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // Returns the signal that came within 100 ms, if one did and must be passed on. A terminal sends
  // SIGINT to the ranks itself.
  std::optional<int> Wait() const {
    constexpr timespec kLook{0, 100'000'000};
    siginfo_t info{};
    const int signal = sigtimedwait(&waited_, &info, &kLook);
    if (signal == SIGTERM || (signal == SIGINT && info.si_code == SI_USER)) return signal;
    return std::nullopt;
  }

 private:
  sigset_t waited_{};
  sigset_t before_{};
};

struct Child {
  pid_t pid = 0;
  std::optional<int> status;  // of waitpid, once it ended
  bool failed() const { return status && !(WIFEXITED(*status) && WEXITSTATUS(*status) == 0); }
};

// The parent's part: waits for all and ends those that outlive a failure for too long.
class Supervisor {
 public:
  explicit Supervisor(std::vector<Child> children) : children_(std::move(children)) {}

  ProcessOutcome Run(const BlockedSignals& signals) {
    while (!Reap()) {
      if (const auto signal = signals.Wait()) SendToRest(*signal);
      if (IsOverdue()) SendToRest(SIGKILL);
    }
    return Judge();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Returns whether all ended.
  bool Reap() {
    bool all = true;
    for (Child& child : children_) {
      int status = 0;
      if (!child.status && waitpid(child.pid, &status, WNOHANG) == child.pid) child.status = status;
      all = all && child.status.has_value();
      if (child.failed() && !first_failure_) first_failure_ = Clock::now();
    }
    return all;
  }

  bool IsOverdue() const { return first_failure_ && Clock::now() - *first_failure_ > kGrace; }

  void SendToRest(int signal) const {
    for (const Child& child : children_) {
      if (!child.status) kill(child.pid, signal);
    }
  }

  ProcessOutcome Judge() const {
    ProcessOutcome outcome;
    outcome.all_lost = true;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      const int status = children_[rank].status.value_or(0);
      outcome.all_lost = outcome.all_lost && WIFSIGNALED(status);
      if (WIFEXITED(status) && outcome.exit_code == 0) outcome.exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status) && outcome.cause.empty()) {
        outcome.cause =
            Concat("rank ", rank, " (pid ", children_[rank].pid, ") was ended by signal ",
                   WTERMSIG(status), " (", sigdescr_np(WTERMSIG(status)), ")");
      }
    }
    if (outcome.exit_code == 0 && !outcome.cause.empty()) outcome.exit_code = 4;
    return outcome;
  }

  std::vector<Child> children_;
  std::optional<Clock::time_point> first_failure_;
};

// Sockets between rank 0 and each other rank: .first is rank 0's end.
std::vector<std::pair<FileDescriptor, FileDescriptor>> MakeStar(int ranks) {
  std::vector<std::pair<FileDescriptor, FileDescriptor>> star(ranks);
  for (int rank = 1; rank < ranks; ++rank) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == -1) {
      throw EnvironmentError(
          Concat("no socket for rank ", rank, " of ", ranks, ": ", strerrordesc_np(errno)));
    }
    star[rank] = {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }
  return star;
}

// The links that the process of `rank` keeps.
std::vector<FileDescriptor> TakeOwn(std::vector<std::pair<FileDescriptor, FileDescriptor>> star,
                                    int rank) {
  std::vector<FileDescriptor> own(star.size());
  if (rank != 0) {
    own[0] = std::move(star[rank].second);
    return own;
  }
  for (std::size_t other = 1; other < star.size(); ++other)
    own[other] = std::move(star[other].first);
  return own;
}

void EndWithParent(pid_t parent) {
  HOCKNEY_CHECK(prctl(PR_SET_PDEATHSIG, SIGTERM));
  if (getppid() != parent) raise(SIGTERM);  // it ended before that took effect
}

}  // namespace

std::optional<Session> RunProcessRanks(int ranks, double timeout_seconds, ProcessOutcome* outcome) {
  RequireOpenFiles(2 * static_cast<std::uint64_t>(ranks));
  std::fflush(nullptr);  // or every process would write what is buffered now
  std::vector<Child> children;
  {
    auto star = MakeStar(ranks);
    std::optional<BlockedSignals> signals(std::in_place);
    const pid_t parent = getpid();
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        signals.reset();
        outcome->rank = rank;
        EndWithParent(parent);
        return MakeProcessSession(TakeOwn(std::move(star), rank), rank, timeout_seconds);
      }
      if (pid == -1) {
        const std::string reason = strerrordesc_np(errno);
        for (const Child& child : children) kill(child.pid, SIGKILL);
        for (const Child& child : children) waitpid(child.pid, nullptr, 0);
        throw EnvironmentError(Concat("no process for rank ", rank, " of ", ranks, ": ", reason));
      }
      children.push_back({pid, std::nullopt});
    }
    star.clear();  // the ranks must see each other go
    *outcome = Supervisor(std::move(children)).Run(*signals);
  }
  return std::nullopt;
}

}  // namespace hockney
