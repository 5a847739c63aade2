#include "tuner/simulate/flow_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace hockney {
namespace {

constexpr double kFull = std::numeric_limits<double>::infinity();

// Starts flows at given times and tells when each has ended.
class Scene {
 public:
  Scene(std::vector<Resource> resources, double refill_seconds)
      : network_(resources, RefilledBuckets(resources, refill_seconds)) {}

  struct Flow {
    double start = 0;
    double bytes = 0;
    std::vector<PathPart> path;
    double cap = kUnlimited;
  };

  std::vector<double> Ends(const std::vector<Flow>& flows) {
    std::vector<double> ends(flows.size(), -1);
    std::map<std::uint32_t, std::size_t> which;
    std::size_t next = 0;
    double now = 0;
    for (;;) {
      network_.Settle(now, &dues_);
      const auto due = std::min_element(dues_.begin(), dues_.end(),
                                        [](auto& a, auto& b) { return a.seconds < b.seconds; });
      if (next < flows.size() && (due == dues_.end() || flows[next].start <= due->seconds)) {
        now = flows[next].start;
        FlowPath path;
        for (const PathPart& part : flows[next].path) path.Add(part.resource, part.weight);
        which[network_.Start(now, flows[next].bytes, flows[next].cap, path, &dues_)] = next;
        ++next;
        continue;
      }
      if (due == dues_.end()) return ends;
      const FlowNetwork::Due event = *due;
      dues_.erase(due);
      now = event.seconds;
      if (event.is_drain) {
        network_.Drain(now, event.target, event.version);
      } else if (network_.End(now, event.target, event.version, &dues_)) {
        ends[which.at(event.target)] = now;
      }
    }
  }

 private:
  FlowNetwork network_;
  std::vector<FlowNetwork::Due> dues_;
};

TEST(FlowNetworkTest, OneFlowHasWhatItsNarrowestResourceGives) {
  EXPECT_DOUBLE_EQ(Scene({{100}, {50}}, 0).Ends({{0, 200, {{0, 1}, {1, 1}}}})[0], 4);
  EXPECT_DOUBLE_EQ(Scene({{100}}, 0).Ends({{0, 200, {{0, 1}}, 20}})[0], 10);
}

TEST(FlowNetworkTest, FlowsShareFromWhenTheyMeet) {
  // Alone until 1, then half each until the first has gone, then alone again.
  const auto ends = Scene({{100}}, 0).Ends({{0, 200, {{0, 1}}}, {1, 200, {{0, 1}}}});
  EXPECT_DOUBLE_EQ(ends[0], 3);
  EXPECT_DOUBLE_EQ(ends[1], 4);
}

TEST(FlowNetworkTest, WhatOneCannotUseTheOthersHave) {
  // Max-min: flow 0 is held to 10 by resource 1, so flow 1 has 90 of resource 0.
  const auto ends = Scene({{100}, {10}}, 0).Ends({{0, 10, {{0, 1}, {1, 1}}}, {0, 90, {{0, 1}}}});
  EXPECT_DOUBLE_EQ(ends[0], 1);
  EXPECT_DOUBLE_EQ(ends[1], 1);
}

TEST(FlowNetworkTest, ThreeFlowsOverTwoResources) {
  // The classic line: the long flow and each short one have half of every link.
  const auto ends = Scene({{100}, {100}}, 0)
                        .Ends({{0, 50, {{0, 1}, {1, 1}}}, {0, 50, {{0, 1}}}, {0, 50, {{1, 1}}}});
  for (const double end : ends) EXPECT_DOUBLE_EQ(end, 1);
}

TEST(FlowNetworkTest, OneThatStandsForManyTakesTheirShare) {
  EXPECT_DOUBLE_EQ(Scene({{100}}, 0).Ends({{0, 25, {{0, 4}}}})[0], 1);
}

TEST(FlowNetworkTest, ABucketPassesItsBurstFirst) {
  // 100 bytes in the bucket, filled at 10 a second, emptied at 60: empty after 2 s and 120 bytes.
  const std::vector<Resource> shaped = {
      {.bytes_per_second = 10, .burst_bytes = 100, .peak_bytes_per_second = 1000}};
  EXPECT_DOUBLE_EQ(Scene(shaped, kFull).Ends({{0, 120, {{0, 1}}, 60}})[0], 2);
  EXPECT_DOUBLE_EQ(Scene(shaped, kFull).Ends({{0, 170, {{0, 1}}, 60}})[0], 7);
  EXPECT_DOUBLE_EQ(Scene(shaped, 0).Ends({{0, 170, {{0, 1}}, 60}})[0], 17);
  // 5 s of rest before it: 50 bytes, empty after 1 s and 60 bytes.
  EXPECT_DOUBLE_EQ(Scene(shaped, 5).Ends({{0, 170, {{0, 1}}, 60}})[0], 12);
  EXPECT_DOUBLE_EQ(Scene(shaped, 50).Ends({{0, 170, {{0, 1}}, 60}})[0], 7);
}

TEST(FlowNetworkTest, ABucketFillsWhileNobodySends) {
  const std::vector<Resource> shaped = {
      {.bytes_per_second = 10, .burst_bytes = 100, .peak_bytes_per_second = 1000}};
  // 5 s of rest are 50 bytes; with 60 a second they are gone, and 10 more, after 1 s.
  const auto ends = Scene(shaped, 0).Ends({{0, 10, {{0, 1}}, 60}, {6, 60, {{0, 1}}, 60}});
  EXPECT_DOUBLE_EQ(ends[0], 1);
  EXPECT_DOUBLE_EQ(ends[1], 7);
}

TEST(FlowNetworkTest, NothingMovesFasterThanTheResourcesAllow) {
  // Many flows over random pairs: no resource passes more bytes than its rate times the time.
  std::vector<Resource> ports(20, Resource{100});
  std::vector<Scene::Flow> flows;
  std::uint32_t seed = 7;
  const auto draw = [&](std::uint32_t most) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int>((seed >> 8) % most);
  };
  std::vector<double> through(20, 0);
  for (int i = 0; i < 600; ++i) {
    const int a = draw(10);
    const int b = 10 + draw(10);
    const double bytes = 1 + draw(50);
    flows.push_back({i * 0.001, bytes, {{a, 1}, {b, 1}}});
    through[a] += bytes;
    through[b] += bytes;
  }
  const auto ends = Scene(ports, 0).Ends(flows);
  const double last = *std::max_element(ends.begin(), ends.end());
  const double busiest = *std::max_element(through.begin(), through.end());
  EXPECT_GE(last, busiest / 100);
  EXPECT_LE(last, 1.5 * busiest / 100) << "and it is used well";
}

}  // namespace
}  // namespace hockney
