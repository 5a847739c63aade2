#include "topology/watchdog.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "topology/check.h"
#include "topology/launcher.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

constexpr int kLookMs = 50;
constexpr int kTimeoutExitCode = 4;
constexpr int kInterruptedExitCode = 7;
// After the first peer is gone, so that all that went with it are known.
constexpr int kGatherMs = 30;
// For the work to stop by itself; mpirun kills a second after it has asked.
constexpr std::chrono::milliseconds kSignalGrace{700};
constexpr std::chrono::milliseconds kLossGrace{150};
constexpr std::chrono::milliseconds kLossStagger{60};  // a rank
constexpr int kMostStagger = 16;

// What a rank tells its peers when it ends, a rank that is ended tells nothing; or a question and
// its answer, in the exit code's place.
struct Note {
  std::int32_t exit_code = 0;
  std::int32_t lost_rank = -1;  // whose end is the cause
};
constexpr std::int32_t kQuestion = -1;
constexpr std::int32_t kAnswer = -2;
constexpr std::chrono::milliseconds kAnswerPatience{1000};

std::optional<pid_t> PidOf(const FileDescriptor& link) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  const bool known = getsockopt(link.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
  // 0: in a process name space that this one does not see
  return known && peer.pid > 0 ? std::optional(peer.pid) : std::nullopt;
}

bool IsStopped(pid_t pid) {
  const std::string stat = ReadText(fmt::format("/proc/{}/stat", pid)).value_or("");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
  return stat[name_end + 2] == 'T' || stat[name_end + 2] == 't';
}

std::chrono::milliseconds Patience(int rank) {
  return kLossGrace + kLossStagger * std::min(rank, kMostStagger);
}

std::string HostName() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

}  // namespace

Watchdog::Watchdog(Options options) : options_(std::move(options)), peers_(options_.peers.size()) {
  if (!(options_.timeout_seconds > 0)) {
    throw std::invalid_argument(
        fmt::format("watchdog: timeout {} s, expected > 0", options_.timeout_seconds));
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  HOCKNEY_CHECK(wake);
  wake_ = FileDescriptor(wake);
  thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

Watchdog::~Watchdog() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.get(), &one, sizeof one));  // at worst it looks once more
}

void Watchdog::SetLastWords(std::function<void(const Ending&)> last_words) {
  const std::lock_guard lock(mutex_);
  last_words_ = std::move(last_words);
}

void Watchdog::EndActivity(const char* next) {
  if (std::uncaught_exceptions() == 0) return SetActivity(next);
  if (activity() == kept_activity_.c_str()) return;
  kept_activity_ = activity();
  SetActivity(kept_activity_.c_str());
}

void Watchdog::Watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Wait(kLookMs);
    {
      const std::lock_guard lock(mutex_);
      if (!left_) LookAtPeers();
    }
    LookAtCall();
    LookAtSignal();
  }
}

// Returns when a peer has something to tell, the watchdog is to stop, or the time is over.
void Watchdog::Wait(int milliseconds) {
  std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t rank = 0; rank < peers_.size() && !left_; ++rank) {
      const bool watched = options_.peers[rank].valid() && peers_[rank].state == PeerState::kAlive;
      if (watched) waits.push_back({options_.peers[rank].get(), POLLIN, 0});
    }
  }
  poll(waits.data(), waits.size(), milliseconds);
}

// Called with the lock held, as all below that touch the peers.
void Watchdog::ReadPeer(int rank) {
  while (ReadNote(rank)) {
  }
}

// Returns whether there may be another one.
bool Watchdog::ReadNote(int rank) {
  Peer& peer = peers_[rank];
  if (peer.state != PeerState::kAlive || !options_.peers[rank].valid()) return false;
  Note note;
  const FileDescriptor& link = options_.peers[rank];
  const ssize_t bytes = recv(link.get(), &note, sizeof note, MSG_DONTWAIT);
  if (bytes != sizeof note) {
    const bool gone = bytes != -1 || (errno != EAGAIN && errno != EINTR);
    if (gone) peer.state = PeerState::kGone;
    peer.unreachable = gone && bytes == -1 && errno != ECONNRESET;
    return false;
  }
  if (note.exit_code == kQuestion) {
    const Note answer{kAnswer, -1};
    send(link.get(), &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
  } else if (note.exit_code == kAnswer) {
    peer.answered = true;
  } else {
    peer.state = note.exit_code == 0 ? PeerState::kLeft : PeerState::kFailed;
    peer.exit_code = note.exit_code;
    peer.lost_rank = note.lost_rank;
  }
  return true;
}

void Watchdog::Ask() {
  for (Peer& peer : peers_) peer.answered = false;
  Tell(kQuestion, -1);
}

// Those that have ended in no way, and yet do not answer.
std::vector<int> Watchdog::SilentPeers() const {
  std::vector<int> silent;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const Peer& peer = peers_[rank];
    const bool alive = peer.state == PeerState::kAlive && options_.peers[rank].valid();
    if ((alive && !peer.answered) || peer.unreachable) silent.push_back(static_cast<int>(rank));
  }
  return silent;
}

bool Watchdog::IsCutOff() const {
  const std::vector<int> silent = SilentPeers();
  const std::size_t ranks = peers_.size();
  const bool with_rank_0 = !silent.empty() && silent.front() == 0;
  return 2 * silent.size() > ranks || (2 * silent.size() == ranks && with_rank_0);
}

void Watchdog::LookAtPeers() {
  const auto read_all = [this] {
    bool ended = false;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      ReadPeer(static_cast<int>(rank));
      ended = ended || peers_[rank].state == PeerState::kGone ||
              peers_[rank].state == PeerState::kFailed;
    }
    return ended;
  };
  if (!read_all()) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(kGatherMs));
  read_all();
  Ending ending;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const Peer& peer = peers_[rank];
    if (peer.state == PeerState::kGone && !ending.lost_rank) {
      ending.lost_rank = static_cast<int>(rank);
    }
    if (peer.state == PeerState::kFailed && peer.lost_rank < 0) ending.exit_code = peer.exit_code;
  }
  if (ending.lost_rank) {
    ending.exit_code = kTimeoutExitCode;
    if (peers_[*ending.lost_rank].unreachable) {
      Ask();  // it may be this host that nobody reaches
      std::this_thread::sleep_for(kAnswerPatience);
      read_all();
      ending.cut_off = IsCutOff();
    }
    if (Speaks()) {
      ending.cause = ending.cut_off
                         ? fmt::format("{} is cut off: {} of {} ranks do not answer any more",
                                       NameOf(options_.rank), SilentPeers().size(), peers_.size())
                         : "lost " + Describe(*ending.lost_rank);
    }
    if (ending.cut_off) ending.lost_rank.reset();
  } else {
    for (const Peer& peer : peers_) {
      if (peer.state == PeerState::kFailed && peer.lost_rank >= 0)
        ending.lost_rank = peer.lost_rank;
    }
  }
  End(ending);
}

// One survivor says it: the lowest one.
bool Watchdog::Speaks() const {
  if (peers_.empty()) return options_.rank == 0 || IsFirstOfSiblings();
  for (int rank = 0; rank < options_.rank; ++rank) {
    const PeerState state = peers_[rank].state;
    if (state == PeerState::kAlive || state == PeerState::kFailed) return false;
  }
  return true;
}

std::string Watchdog::NameOf(int rank) const {
  return fmt::format("rank {} on {}", rank,
                     options_.hosts.empty() ? HostName() : options_.hosts.at(rank));
}

std::string Watchdog::Describe(int rank) const {
  const auto pid = PidOf(options_.peers[rank]);
  std::string text = NameOf(rank);
  if (pid) text += fmt::format(" (pid {})", *pid);
  return fmt::format(
      "{}: {}, during {}", text,
      peers_[rank].unreachable ? "its host does not answer any more" : "it ended without a word",
      *activity() == '\0' ? "the start" : activity());
}

// The guarded thread must not read clocks, so the time counts from when a call was first seen here.
void Watchdog::LookAtCall() {
  const std::uint64_t call = calls_.load(std::memory_order_acquire);
  if (call != seen_call_) {
    seen_call_ = call;
    seen_since_ = Clock::now();
    return;
  }
  const std::chrono::duration<double> waited = Clock::now() - seen_since_;
  if (call == 0 || waited.count() <= options_.timeout_seconds) return;
  const char* what = what_.load(std::memory_order_acquire);
  // Still the same call, so `what` is its name.
  if (calls_.load(std::memory_order_acquire) != call) return;
  EndAfterTimeout(
      fmt::format("rank {} waited {} s in {}", options_.rank, options_.timeout_seconds, what));
}

void Watchdog::EndAfterTimeout(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    if (!left_) Ask();
  }
  const auto until = Clock::now() + kAnswerPatience + Patience(options_.rank);
  while (Clock::now() < until) {  // a lower rank may say it
    Wait(10);
    const std::lock_guard lock(mutex_);
    if (!left_) LookAtPeers();
  }
  Ending ending;
  ending.waiting_for = what;
  ending.lost_rank = FindStoppedPeer();
  const bool is_stopped = ending.lost_rank.has_value();
  {
    const std::lock_guard lock(mutex_);
    const std::vector<int> silent = SilentPeers();
    if (!is_stopped && !silent.empty()) ending.lost_rank = silent.front();
  }
  // Before the ranks are connected only their parent is common to them.
  if (!peers_.empty() || Speaks()) {
    ending.cause = ending.waiting_for;
    if (*activity() != '\0') ending.cause += fmt::format(" ({})", activity());
    if (is_stopped) {
      ending.cause += fmt::format("; rank {} is stopped", *ending.lost_rank);
    } else if (ending.lost_rank) {
      ending.cause += fmt::format("; {} does not answer: it is stopped, or its host is",
                                  NameOf(*ending.lost_rank));
    }
  }
  const std::lock_guard lock(mutex_);
  End(ending);
}

void Watchdog::LookAtSignal() {
  const int signal = options_.signal ? options_.signal() : 0;
  if (signal == 0) return;
  if (!signalled_) signalled_ = Clock::now();
  const std::lock_guard lock(mutex_);
  if (left_ || Clock::now() - *signalled_ < kSignalGrace) return;
  Ending ending{.exit_code = kInterruptedExitCode};
  if (Speaks()) {
    ending.cause = fmt::format("interrupted by signal {}; what was finished is kept", signal);
  }
  End(ending);
}

void Watchdog::Tell(std::int32_t exit_code, std::int32_t lost_rank) const {
  const Note note{exit_code, lost_rank};
  for (const FileDescriptor& peer : options_.peers) {
    // Into an empty socket, so it fits; a peer that is gone needs no word.
    if (peer.valid()) send(peer.get(), &note, sizeof note, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void Watchdog::Leave(int exit_code) {
  const std::lock_guard lock(mutex_);
  if (left_) return;
  left_ = true;
  Tell(exit_code, -1);
}

std::optional<int> Watchdog::FindStoppedPeer() const {
  for (std::size_t rank = 0; rank < options_.peers.size(); ++rank) {
    if (!options_.peers[rank].valid()) continue;
    const auto pid = PidOf(options_.peers[rank]);
    if (pid && IsStopped(*pid)) return static_cast<int>(rank);
  }
  return std::nullopt;
}

// Called with the lock held, so that the main thread can neither leave nor take its words back.
void Watchdog::End(const Ending& ending) {
  if (!ending.cause.empty()) fmt::print(stderr, "{}: {}\n", options_.program, ending.cause);
  Tell(ending.exit_code, ending.lost_rank.value_or(-1));
  try {
    if (last_words_) last_words_(ending);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: rank {}: last words failed: {}\n", options_.program, options_.rank,
               error.what());
  }
  _exit(ending.exit_code);
}

}  // namespace hockney
