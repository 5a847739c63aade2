#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "bench/clock/clock_link.h"
#include "bench/clock/local_clock.h"
#include "topology/session.h"

namespace hockney::testing {

// A clock that is set wrong and drifts, from some time on at another rate.
struct Distortion {
  std::int64_t offset_ns = 0;
  double drift = 0;
  std::int64_t kink_ns = 0;  // true time
  double drift_after = 0;    // added to `drift` from then on

  std::int64_t ToLocal(std::int64_t true_ns) const;
  std::int64_t ToTrue(std::int64_t local_ns) const;  // before the kink
};

// Clocks 5 ms apart that drift by up to 50 ppm, other ones for each rank.
Distortion DistortionOf(int rank);

// Carries messages in virtual time, so that what arrives when depends on the seed only.
class VirtualNetwork {
 public:
  struct Options {
    double latency_ns = 10'000;  // least time of one way
    double asymmetry = 0;        // by which share it is longer towards higher ranks, else shorter
    double jitter_ns = 1'000;    // mean of what comes on top, exponentially distributed
    std::uint64_t seed = 1;
  };
  explicit VirtualNetwork(const Options& options) : options_(options) {}

  void Send(int from, int to, std::int64_t now_ns, std::span<const std::byte> bytes);
  // Waits for the next message and returns when it arrived.
  std::int64_t Receive(int from, int to, std::span<std::byte> bytes);

 private:
  struct Pipe {
    std::deque<std::pair<std::int64_t, std::vector<std::byte>>> messages = {};
    std::int64_t last_arrival_ns = 0;
    std::mt19937_64 random = {};
  };
  Pipe& PipeOf(int from, int to);

  Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, Pipe> pipes_;
};

// A rank that lives in virtual time; its thread only.
class VirtualRank : public LocalClock, public ClockLink {
 public:
  VirtualRank(VirtualNetwork& network, int rank, const Distortion& distortion)
      : network_(network), rank_(rank), distortion_(distortion) {}

  std::int64_t true_ns() const { return true_ns_; }
  void Advance(std::int64_t ns) { true_ns_ += ns; }
  // Lets all ranks go on at the time of the latest. Collective.
  void Meet(Session& session);

  std::int64_t NowNs() override;
  void WaitUntil(std::int64_t local_ns) override;
  void Send(int peer, std::span<const std::byte> bytes) override;
  void Receive(int peer, std::span<std::byte> bytes) override;

 private:
  VirtualNetwork& network_;
  int rank_;
  Distortion distortion_;
  std::int64_t true_ns_ = 1'000'000'000;
};

}  // namespace hockney::testing
