#pragma once

#include <cstdint>
#include <string>

#include "bench/cell.h"
#include "bench/links/link_programs.h"
#include "tuner/statistics.h"

namespace hockney {

// Times link tasks with all ranks of a rig; those in no pair stand by.
class LinkRunner {
 public:
  // Data lanes that the rig must have room for.
  static constexpr int kMostLanes = 16;

  // `context` outlives the runner; each rank's arena holds 2 * most_bytes.
  LinkRunner(const SweepContext& context, std::uint64_t most_bytes)
      : context_(context), most_bytes_(most_bytes) {}
  LinkRunner(const LinkRunner&) = delete;
  LinkRunner& operator=(const LinkRunner&) = delete;
  ~LinkRunner();

  std::uint64_t most_bytes() const { return most_bytes_; }

  // Returns, on every rank alike, the time in us of one message of the task: of kPingPong half of
  // both, of kStream and kPost of all together. Of several pairs the slowest counts. Samples are
  // taken until the interval of the median is narrow or `budget_seconds` are over. Collective.
  Summary Measure(const LinkTask& task, double budget_seconds);

  // Whether the user asked for the end; then Measure returns after its first batch. Alike on every
  // rank.
  bool interrupted() const { return interrupted_; }

 private:
  struct Plan;
  std::unique_ptr<Prepared> Prepare(const LinkTask& task, Timed* timed);

  const SweepContext& context_;
  std::uint64_t most_bytes_;
  bool interrupted_ = false;
  std::string label_;
};

}  // namespace hockney
