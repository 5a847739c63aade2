#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "topology/file_descriptor.h"

namespace hockney {

// Why a process ends before its work is done.
struct Ending {
  int exit_code = 4;
  std::string cause = {};             // one line; empty if another rank has said it
  std::optional<int> lost_rank = {};  // that is gone or stopped, if it is known
  std::string waiting_for = {};       // who waited for what, if a wait passed its deadline
  // Most ranks, or rank 0 with as many as are on this side, answer no more: the others are those
  // who can say how the run ended.
  bool cut_off = false;
};

// Ends the process when a peer is gone, when a call that has no deadline of its own (a blocking MPI
// or NCCL call) takes too long, and when a signal asked for the end and the work does not stop. One
// sleeping thread a process; it hears of a peer at once and looks at the rest every 50 ms. The
// threads answer each other whatever the work waits for, so who does not answer is stopped or cut
// off.
class Watchdog {
 public:
  struct Options {
    double timeout_seconds = 60;             // of a guarded call, > 0
    int rank = 0;                            // of this process among `peers`
    std::string program = "hockney";         // begins the line on stderr
    std::vector<FileDescriptor> peers = {};  // of ConnectHosts; empty: no peers to watch
    std::vector<std::string> hosts = {};     // of the peers; empty: all are on this one
    std::function<int()> signal = {};        // the signal that asked for the end, 0 if none did
  };

  // Throws std::invalid_argument for a timeout that is not positive.
  explicit Watchdog(Options options);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();  // does not wait for the next look

  // What the watchdog's thread calls before it ends the process with _exit, after it has printed
  // the cause (one surviving rank does): saves what was measured without waiting for the hung
  // thread. An empty function takes it back; it is not running any more when this returns.
  void SetLastWords(std::function<void(const Ending&)> last_words);

  // Around every guarded call, by one thread; two stores, no lock and no system call. `what` names
  // the call and lives as long as the process, e.g. a string literal. The time counts from the
  // watchdog's first look after Arm.
  void Arm(const char* what) {
    // Releases pair with the acquires in Watch: who sees the number sees its text, and who sees the
    // next text sees that the call before has ended.
    what_.store(what, std::memory_order_release);
    calls_.store(++armed_, std::memory_order_release);
  }
  void Disarm() { calls_.store(0, std::memory_order_release); }

  // Says what this rank does now, for the messages; the text lives until the next call.
  void SetActivity(const char* what) { activity_.store(what, std::memory_order_release); }
  // The text is about to go: says `next`, a string literal, instead; but while an exception passes
  // a copy of the text, since it names what failed. By the thread that calls SetActivity.
  void EndActivity(const char* next);
  const char* activity() const { return activity_.load(std::memory_order_acquire); }

  // Tells the peers that this rank ends: in good order (0), or with an exit code whose cause it has
  // said itself; they then end silently with the same code. Peers are not watched any more.
  void Leave(int exit_code = 0);

  // Ends the process after a wait of this thread has failed with `what`: with exit code 4, or as
  // the peer's end asks for if that is the cause. The lowest rank that waits in vain says it.
  [[noreturn]] void EndAfterTimeout(const std::string& what);
  // Returns the lowest peer that is stopped (SIGSTOP, a debugger), if any.
  std::optional<int> FindStoppedPeer() const;

 private:
  enum class PeerState : std::uint8_t { kAlive, kLeft, kFailed, kGone };
  struct Peer {
    PeerState state = PeerState::kAlive;
    int exit_code = 0;
    int lost_rank = -1;
    bool unreachable = false;  // gone, but no word came that it ended
    bool answered = false;     // the last question
  };

  void Watch(const std::stop_token& stop);
  void Wait(int milliseconds);
  void LookAtPeers();
  void ReadPeer(int rank);
  bool ReadNote(int rank);
  void Ask();
  std::vector<int> SilentPeers() const;
  bool IsCutOff() const;
  std::string NameOf(int rank) const;
  void LookAtCall();
  void LookAtSignal();
  std::string Describe(int rank) const;
  bool Speaks() const;
  void Tell(std::int32_t exit_code, std::int32_t lost_rank) const;
  [[noreturn]] void End(const Ending& ending);

  using Clock = std::chrono::steady_clock;

  Options options_;
  std::mutex mutex_;  // guards last_words_ and the peers' state
  std::function<void(const Ending&)> last_words_;
  std::vector<Peer> peers_;
  bool left_ = false;
  std::uint64_t seen_call_ = 0;  // the thread's own
  Clock::time_point seen_since_;
  std::optional<Clock::time_point> signalled_;
  std::uint64_t armed_ = 0;              // calls so far; the guarded thread's own
  std::atomic<std::uint64_t> calls_{0};  // number of the guarded call, 0 between calls
  std::atomic<const char*> what_{""};
  std::atomic<const char*> activity_{""};
  std::string kept_activity_;
  FileDescriptor wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace hockney
