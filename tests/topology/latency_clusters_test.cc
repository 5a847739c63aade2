#include "topology/latency_clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Made-up latencies between hosts h0, h1, ...
class Latencies {
 public:
  Latencies(std::size_t hosts, const std::function<double(std::size_t, std::size_t)>& us)
      : hosts_(hosts), us_(hosts * hosts, 0.0) {
    for (std::size_t a = 0; a < hosts; ++a) {
      for (std::size_t b = 0; b < hosts; ++b) {
        if (a != b) At(a, b) = us(a, b);
      }
    }
  }

  double& At(std::size_t a, std::size_t b) { return us_[a * hosts_ + b]; }

  // Adds normal noise of this standard deviation to the logarithm of each.
  Latencies& Disturb(double sigma, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, sigma);
    for (double& us : us_) us *= std::exp(normal(random));
    return *this;
  }

  SwitchTree Cluster() const {
    std::vector<std::string> names;
    for (std::size_t host = 0; host < hosts_; ++host) names.push_back("h" + std::to_string(host));
    return ClusterByLatency(names, us_);
  }

  // "h0 h1|h2 h3": the hosts of the racks.
  std::string Racks() const {
    std::string text;
    for (const SwitchTree::Rack& rack : Cluster().racks) {
      if (!text.empty()) text += '|';
      for (const std::string& host : rack.hosts) text += (host == rack.hosts[0] ? "" : " ") + host;
    }
    return text;
  }

 private:
  std::size_t hosts_;
  std::vector<double> us_;
};

// Racks of `size` hosts next to each other.
auto RacksOf(std::size_t size, double near, double far) {
  return [=](std::size_t a, std::size_t b) { return a / size == b / size ? near : far; };
}

TEST(LatencyClustersTest, TwoRacksOfTwo) {
  EXPECT_EQ(Latencies(4, RacksOf(2, 20, 30)).Racks(), "h0 h1|h2 h3");
  const SwitchTree tree = Latencies(4, RacksOf(2, 20, 30)).Cluster();
  EXPECT_EQ(tree.source, "measured latencies");
  EXPECT_EQ(tree.racks[0].name, "rack0");
  EXPECT_EQ(tree.racks[0].pod, "");
}

TEST(LatencyClustersTest, HostsOfARackNeedNotBeNeighbours) {
  EXPECT_EQ(Latencies(6, [](auto a, auto b) { return a % 2 == b % 2 ? 10.0 : 15.0; }).Racks(),
            "h0 h2 h4|h1 h3 h5");
}

TEST(LatencyClustersTest, RacksOfUnlikeSizesAndALoneHostBesideThem) {
  const auto rack = [](std::size_t host) { return host < 3 ? 0 : host < 7 ? 1 : 2; };
  EXPECT_EQ(Latencies(8, [&](auto a, auto b) { return rack(a) == rack(b) ? 8.0 : 13.0; }).Racks(),
            "h0 h1 h2|h3 h4 h5 h6|h7");
}

TEST(LatencyClustersTest, AFurtherStepMakesPods) {
  const SwitchTree tree = Latencies(8, [](auto a, auto b) {
                            if (a / 2 == b / 2) return 10.0;
                            return a / 4 == b / 4 ? 14.0 : 22.0;
                          }).Cluster();
  ASSERT_EQ(tree.racks.size(), 4U);
  EXPECT_EQ(tree.racks[0].pod, tree.racks[1].pod);
  EXPECT_EQ(tree.racks[2].pod, tree.racks[3].pod);
  EXPECT_NE(tree.racks[0].pod, tree.racks[2].pod);
  EXPECT_NE(tree.racks[0].pod, "");
}

TEST(LatencyClustersTest, EqualLatenciesAndFewHostsShowNothing) {
  EXPECT_EQ(Latencies(8, RacksOf(8, 20, 20)).Racks(), "");
  EXPECT_EQ(Latencies(1, RacksOf(1, 20, 20)).Racks(), "");
  EXPECT_EQ(Latencies(0, RacksOf(1, 20, 20)).Racks(), "");
  EXPECT_EQ(Latencies(2, RacksOf(2, 20, 20)).Racks(), "");
  EXPECT_EQ(Latencies(2, RacksOf(2, 20, 20)).Cluster().source, "");
}

TEST(LatencyClustersTest, NoiseAloneIsNeverARack) {
  for (const std::size_t hosts : {3U, 4U, 5U, 8U, 16U, 31U}) {
    for (const double sigma : {0.01, 0.05, 0.1, 0.3}) {
      for (unsigned seed = 0; seed < 200; ++seed) {
        Latencies latencies(hosts, RacksOf(hosts, 20, 20));
        EXPECT_EQ(latencies.Disturb(sigma, seed).Racks(), "")
            << hosts << " hosts, sigma " << sigma << ", seed " << seed;
      }
    }
  }
}

TEST(LatencyClustersTest, RacksAreFoundThroughNoise) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(Latencies(8, RacksOf(4, 20, 30)).Disturb(0.05, seed).Racks(),
              "h0 h1 h2 h3|h4 h5 h6 h7")
        << seed;
  }
}

TEST(LatencyClustersTest, AStepBelowTheNoiseIsNone) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(Latencies(8, RacksOf(4, 20, 25)).Disturb(0.3, seed).Racks(), "") << seed;
  }
}

TEST(LatencyClustersTest, OneDirectionThatIsDisturbedDoesNotCount) {
  Latencies latencies(6, RacksOf(3, 20, 30));
  latencies.At(0, 1) = 90;  // an interrupt
  latencies.At(5, 0) = 400;
  EXPECT_EQ(latencies.Racks(), "h0 h1 h2|h3 h4 h5");
}

TEST(LatencyClustersTest, OneOddPairDoesNotBreakTheRacks) {
  Latencies slow(8, RacksOf(4, 20, 30));
  slow.At(0, 1) = slow.At(1, 0) = 60;
  EXPECT_EQ(slow.Racks(), "h0 h1 h2 h3|h4 h5 h6 h7");
  Latencies fast(8, RacksOf(4, 20, 30));
  fast.At(0, 7) = fast.At(7, 0) = 19;  // single linkage would make one rack of it
  EXPECT_EQ(fast.Racks(), "h0 h1 h2 h3|h4 h5 h6 h7");
}

TEST(LatencyClustersTest, ASlowHostIsNoRack) {
  EXPECT_EQ(Latencies(6, [](auto a, auto b) { return a == 5 || b == 5 ? 60.0 : 20.0; }).Racks(),
            "");
}

TEST(LatencyClustersTest, HostsInARowAreNoRacks) {
  EXPECT_EQ(Latencies(16, [](double a, double b) { return 10 + 4 * std::abs(a - b); }).Racks(), "");
}

TEST(LatencyClustersTest, PairsThatWereNotMeasuredSayNothing) {
  Latencies latencies(8, RacksOf(4, 20, 30));
  for (std::size_t a = 0; a < 8; ++a) latencies.At(a, (a + 2) % 8) = kMissing;
  for (std::size_t a = 0; a < 8; ++a) latencies.At((a + 2) % 8, a) = kMissing;
  latencies.At(1, 6) = std::numeric_limits<double>::infinity();
  EXPECT_EQ(latencies.Racks(), "h0 h1 h2 h3|h4 h5 h6 h7");
}

TEST(LatencyClustersTest, OneDirectionIsEnough) {
  Latencies latencies(8,
                      [](auto a, auto b) { return a < b ? RacksOf(4, 20, 35)(a, b) : kMissing; });
  EXPECT_EQ(latencies.Racks(), "h0 h1 h2 h3|h4 h5 h6 h7");
  // Without a second direction the noise is not known, and a small step not trusted.
  Latencies close(8, [](auto a, auto b) { return a < b ? RacksOf(4, 20, 26)(a, b) : kMissing; });
  EXPECT_EQ(close.Racks(), "");
}

TEST(LatencyClustersTest, AHostWithoutMeasurementsIsInNoRack) {
  Latencies latencies(5, RacksOf(2, 20, 30));
  for (std::size_t host = 0; host < 5; ++host) {
    latencies.At(4, host) = latencies.At(host, 4) = kMissing;
  }
  EXPECT_EQ(latencies.Racks(), "h0 h1|h2 h3");
  EXPECT_EQ(Latencies(3, [](auto, auto) { return kMissing; }).Racks(), "");
}

TEST(LatencyClustersTest, ManyHostsTakeTheSquareOfTheirNumber) {
  const SwitchTree tree = Latencies(600, RacksOf(20, 20, 30)).Disturb(0.03, 1).Cluster();
  ASSERT_EQ(tree.racks.size(), 30U);
  for (const SwitchTree::Rack& rack : tree.racks) EXPECT_EQ(rack.hosts.size(), 20U);
}

TEST(LatencyClustersTest, RefusesWhatIsNoMatrixOfLatencies) {
  const std::vector<std::string> hosts = {"a", "b"};
  EXPECT_THROW(ClusterByLatency(hosts, std::vector<double>{0, 1, 1}), std::invalid_argument);
  EXPECT_THROW(ClusterByLatency(hosts, std::vector<double>{0, -1, 1, 0}), std::invalid_argument);
  EXPECT_THROW(ClusterByLatency(hosts, std::vector<double>{0, 0, 1, 0}), std::invalid_argument);
}

TEST(HostLatenciesTest, TheLeastPairOfRanksStandsForTheHosts) {
  const std::vector<double> ranks = {0,        1, 5, 9,  //
                                     1,        0, 4, 8,  //
                                     7,        6, 0, 2,  //
                                     kMissing, 3, 2, 0};
  const std::vector<int> node_of_rank = {0, 0, 1, 1};
  const std::vector<double> hosts = HostLatencies(ranks, node_of_rank);
  ASSERT_EQ(hosts.size(), 4U);
  EXPECT_EQ(hosts[1], 4);
  EXPECT_EQ(hosts[2], 3);
  const std::vector<int> apart = {0, 1};
  EXPECT_TRUE(std::isnan(HostLatencies(std::vector<double>(4, kMissing), apart)[1]));
  EXPECT_THROW(HostLatencies(ranks, apart), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
