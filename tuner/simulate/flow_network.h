#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hockney {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Something that bytes pass through at a limited rate: one direction of a network card, a link
// between racks, the memory of a node. With a token bucket it passes `burst_bytes` at
// `peak_bytes_per_second` before the rate holds, and fills up again at the rate.
struct Resource {
  double bytes_per_second = kUnlimited;
  double burst_bytes = 0;
  double peak_bytes_per_second = kUnlimited;
};

// What the buckets hold, of resources that have one, after so many seconds of rest; `before` is
// what they held before that, nothing if none.
std::vector<double> RefilledBuckets(std::span<const Resource> resources, double seconds,
                                    std::span<const double> before = {});

// A resource that a flow passes, and how many flows like it pass there, where one stands for many.
struct PathPart {
  std::int32_t resource = 0;
  float weight = 1;
};
inline constexpr int kMostPathParts = 6;
struct FlowPath {
  std::array<PathPart, kMostPathParts> parts{};
  int size = 0;
  void Add(std::int32_t resource, float weight = 1) { parts.at(size++) = {resource, weight}; }
};

// Flows of bytes through resources, with max-min fair rates: no flow can have more without another
// of no more having less. Rates change only when a flow of the same component starts or ends, or a
// bucket is empty. The caller keeps time: it starts flows at ascending times, calls Settle after
// all that start or end at one time, and calls End and Drain when what it was told comes due.
class FlowNetwork {
 public:
  // `buckets`: what those of the resources that have one hold, in their order.
  FlowNetwork(std::span<const Resource> resources, std::span<const double> buckets);

  // What became known: a flow's end or a bucket that runs dry, valid while `version` is the
  // target's.
  struct Due {
    double seconds = 0;
    std::uint32_t target = 0;
    std::uint32_t version = 0;
    bool is_drain = false;
  };

  // Starts a flow of bytes > 0, at no more than `cap` bytes per second, and returns its number. Its
  // end is among `due` at once or after Settle.
  std::uint32_t Start(double now, double bytes, double cap, const FlowPath& path,
                      std::vector<Due>* due);
  // Ends a flow whose end has come. False if it is gone already, or ends later than was said, which
  // is among `due` then.
  bool End(double now, std::uint32_t flow, std::uint32_t version, std::vector<Due>* due);
  // The bucket of a resource is empty; nothing if the version is an old one.
  void Drain(double now, std::uint32_t resource, std::uint32_t version);
  bool needs_settling() const { return !dirty_.empty(); }
  // Solves the components that changed.
  void Settle(double now, std::vector<Due>* due);

  // Bytes that went through a resource so far, of all flows that ended.
  double BytesThrough(std::int32_t resource) const { return resources_[resource].passed; }
  // Bytes left in the resource's bucket at `now`.
  double Tokens(std::int32_t resource, double now) const;
  std::uint64_t solves() const { return solves_; }

 private:
  struct Flow {
    double remaining = 0;
    double bytes = 0;
    double rate = 0;
    double updated = 0;
    double end = kUnlimited;
    double due = kUnlimited;  // the earliest that was said and has not come
    double cap = kUnlimited;
    std::uint32_t version = 0;
    std::uint32_t mark = 0;
    FlowPath path{};
    std::array<std::uint32_t, kMostPathParts> place{};  // in the flows of each part's resource
  };
  struct Member {
    std::uint32_t flow = 0;
    std::uint32_t part = 0;
  };
  struct Used {
    Resource limits{};
    std::vector<Member> flows = {};
    double passed = 0;
    double tokens = 0;
    double used = 0;  // bytes per second at present
    double updated = 0;
    double left = 0;         // while solving
    double open_weight = 0;  // while solving
    std::uint32_t version = 0;
    std::uint32_t mark = 0;
    bool dirty = false;
  };

  double Capacity(const Used& resource) const;
  void MarkDirty(std::uint32_t resource);
  void Collect(std::size_t next, std::size_t most_flows);
  void Refill(Used& resource, double now) const;
  void Solve(double now, std::vector<Due>* due);
  void Fill();
  void Fix(Flow& flow, double rate);
  void Report(double now, std::vector<Due>* due);

  std::vector<Used> resources_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> touched_resources_;
  std::vector<std::uint32_t> touched_flows_;
  std::vector<double> old_rates_;
  std::uint32_t mark_ = 0;
  std::uint64_t solves_ = 0;
};

}  // namespace hockney
