#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/clock/clock_kind.h"
#include "bench/clock/global_clock.h"
#include "bench/clock/local_clock.h"
#include "bench/clock/socket_clock_link.h"
#include "topology/file_descriptor.h"
#include "topology/machine.h"
#include "topology/session.h"

namespace hockney {

// Names the clock that this process reads: equal names, one clock. Two hosts of one kernel have
// one, unless a container has a time name space of its own.
std::string ClockName(const Machine& machine);

// The clock of a run, with all that it needs.
class RunClock {
 public:
  // Connects the ranks of a session, as ConnectPeers does.
  using Connect = std::function<std::vector<FileDescriptor>(Session&)>;
  struct Place {
    std::string clock_name = {};  // ClockName
    int host = 0;                 // number of this rank's host
  };

  // Decides for `wanted` and, for kHca3, connects and compares the clocks: of the kernels, or of
  // the hosts where a user asked for kHca3 although one kernel runs them all. Collective. Throws
  // std::invalid_argument on every rank alike if kTsc is wanted and there is no common clock, and
  // what `connect` and GlobalClock throw.
  RunClock(Session& session, ClockKind wanted, const Place& place, const Connect& connect);

  ClockKind kind() const { return kind_; }               // never kAuto
  GlobalClock* global() const { return global_.get(); }  // null unless kHca3

 private:
  ClockKind kind_;
  SteadyClock steady_;
  std::unique_ptr<SocketClockLink> link_;
  std::unique_ptr<GlobalClock> global_;
};

}  // namespace hockney
