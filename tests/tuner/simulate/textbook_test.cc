#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "collectives/builder.h"
#include "tuner/bandwidth.h"
#include "tuner/simulate/simulate.h"

namespace hockney {
namespace {

constexpr double kAlpha = 1e-6;
constexpr double kBeta = 1e-10;
constexpr double kGamma = 3e-11;

struct Terms {
  double alphas = 0;
  double betas = 0;   // times the size
  double gammas = 0;  // times the size
};

struct Formula {
  Collective collective;
  const char* algorithm;
  std::function<Terms(int p)> terms;
  bool any_ranks = true;  // not powers of two only
};

int Log(int p) { return CeilLog2(p); }
double Share(int p) { return (p - 1.0) / p; }

// Where every rank has a port of its own, one way in and one way out, and nothing else limits. The
// formulae of the literature; where a rank has to know that its peers have entered, or have read, a
// token's alpha is added at the begin and at the end (the contract of a call).
std::vector<Formula> ReducingFormulae() {
  using enum Collective;
  return {
      {kAllReduce, "ring",
       [](int p) {
         return Terms{2.0 * (p - 1), 2 * Share(p), Share(p)};
       }},
      {kAllReduce, "recursive_doubling",
       [](int p) {
         return Terms{1.0 * Log(p), 1.0 * Log(p), 1.0 * Log(p)};
       },
       false},
      {kAllReduce, "halving_doubling",
       [](int p) {
         return Terms{2.0 * Log(p), 2 * Share(p), Share(p)};
       },
       false},
      {kAllReduce, "one_shot",
       [](int p) {
         return Terms{2, p - 1.0, p - 1.0};
       }},
      {kAllReduce, "two_shot",
       [](int p) {
         return Terms{2, 2 * Share(p), Share(p)};
       }},
      {kReduceScatter, "ring",
       [](int p) {
         return Terms{p - 1.0, Share(p), Share(p)};
       }},
      {kReduceScatter, "halving_doubling",
       [](int p) {
         return Terms{1.0 * Log(p), Share(p), Share(p)};
       },
       false},
      {kReduceScatter, "pairwise",
       [](int p) {
         return Terms{p - 1.0, Share(p), Share(p)};
       }},
      {kReduceScatter, "pat",
       [](int p) {
         return Terms{1.0 * Log(p), Share(p), Share(p)};
       },
       false},
      {kReduceScatter, "direct",
       [](int p) {
         return Terms{2, Share(p), Share(p)};
       }},
  };
}

std::vector<Formula> MovingFormulae() {
  using enum Collective;
  return {
      {kAllGather, "ring",
       [](int p) {
         return Terms{p - 1.0, Share(p)};
       }},
      {kAllGather, "recursive_doubling",
       [](int p) {
         return Terms{1.0 * Log(p), Share(p)};
       },
       false},
      {kAllGather, "bruck",
       [](int p) {
         return Terms{1.0 * Log(p), Share(p)};
       }},
      {kAllGather, "pat",
       [](int p) {
         return Terms{1.0 * Log(p), Share(p)};
       }},
      {kAllGather, "direct",
       [](int p) {
         return Terms{2, Share(p)};
       }},
      {kAllToAll, "bruck",
       [](int p) {
         return Terms{1.0 * Log(p), 0.5 * Log(p)};
       },
       false},
      {kAllToAll, "pairwise",
       [](int p) {
         return Terms{p - 1.0, Share(p)};
       }},
      {kAllToAll, "direct",
       [](int p) {
         return Terms{2, Share(p)};
       }},
      {kBroadcast, "ring",
       [](int p) {
         return Terms{p - 1.0, p - 1.0};
       }},
      {kBroadcast, "naive_root",
       [](int p) {
         return Terms{1, p - 1.0};
       }},
      {kBroadcast, "direct",
       [](int p) {
         return Terms{2, 2 * Share(p)};
       }},
      {kReduce, "ring",
       [](int p) {
         return Terms{p - 1.0, p - 1.0, p - 1.0};
       }},
      {kGather, "direct",
       [](int p) {
         return Terms{2, Share(p)};
       }},
      {kGather, "naive_root",
       [](int p) {
         return Terms{1, Share(p)};
       }},
      {kScatter, "direct",
       [](int p) {
         return Terms{2, Share(p)};
       }},
      {kScatter, "naive_root",
       [](int p) {
         return Terms{1, Share(p)};
       }},
      {kBarrier, "recursive_doubling", [](int p) { return Terms{1.0 * Log(p)}; }, false},
      {kBarrier, "direct", [](int) { return Terms{1}; }},
      {kBarrier, "naive_root", [](int) { return Terms{2}; }},
      {kSendRecv, "ring",
       [](int) {
         return Terms{1, 1};
       }},
  };
}

std::vector<Formula> PortFormulae() {
  std::vector<Formula> all = ReducingFormulae();
  const std::vector<Formula> moving = MovingFormulae();
  all.insert(all.end(), moving.begin(), moving.end());
  return all;
}

// Where only connections limit: what trees are usually told by.
std::vector<Formula> ConnectionFormulae() {
  using enum Collective;
  return {
      {kAllReduce, "double_binary_tree",
       [](int p) {
         return Terms{2.0 * Log(p), 1.0 * Log(p)};
       }},
      {kBroadcast, "double_binary_tree",
       [](int p) {
         return Terms{1.0 + Log(p - 1), 0.5 * (1 + Log(p - 1))};
       }},
      {kReduce, "double_binary_tree",
       [](int p) {
         return Terms{1.0 + Log(p - 1), 0.5 * (1 + Log(p - 1))};
       }},
  };
}

SimMachine Alone(int ranks) {
  SimMachine machine;
  machine.placement = OneNode(ranks);
  machine.node.alpha_seconds = kAlpha;
  return machine;
}

SimMachine WithPorts(int ranks, double gamma) {
  SimMachine machine = Alone(ranks);
  machine.rank_port_bytes_per_second = 1 / kBeta;
  machine.reduce_seconds_per_byte = gamma;
  return machine;
}

// One piece, one slice: the formulae know no pipelines.
double Simulate(const Formula& formula, int ranks, std::uint64_t size, const SimMachine& machine) {
  SimRequest request;
  request.row = FindAlgorithm(formula.collective, formula.algorithm);
  if (request.row == nullptr) throw std::logic_error(formula.algorithm);
  const std::uint64_t count = CountForSize(formula.collective, size, DataType::kFloat32, ranks);
  request.counts = EvenCounts({formula.collective, ranks, 0}, count);
  request.parameters.slices = 1;
  request.limits.slot_bytes = request.limits.memory_slice_bytes = std::size_t{1} << 40;
  return Simulation(request, machine).Run().seconds;
}

std::string Label(const Formula& formula, int ranks) {
  return std::string(Name(formula.collective)) + " " + formula.algorithm + " of " +
         std::to_string(ranks);
}

constexpr int kPowers[] = {2, 4, 8, 16, 64};
constexpr int kAny[] = {2, 3, 5, 6, 7, 8, 12, 17};

TEST(TextbookTest, PortsOfTheirOwnGiveTheFormulae) {
  for (const Formula& formula : PortFormulae()) {
    const std::vector<int> all(std::begin(kAny), std::end(kAny));
    const std::vector<int> powers(std::begin(kPowers), std::end(kPowers));
    for (const int p : formula.any_ranks ? all : powers) {
      const std::uint64_t size = std::uint64_t{128} * p * 512;
      const Terms terms = formula.terms(p);
      const double bytes = formula.collective == Collective::kBarrier ? 0 : 1.0 * size;
      const double expected = terms.alphas * kAlpha + terms.betas * bytes * kBeta;
      const double found = Simulate(formula, p, size, WithPorts(p, 0));
      EXPECT_NEAR(found, expected, 1e-9 * expected) << Label(formula, p);
    }
  }
}

TEST(TextbookTest, SumsAddTheirGamma) {
  for (const Formula& formula : PortFormulae()) {
    // Lanes that read peers' buffers add while they read.
    const bool reads =
        FindAlgorithm(formula.collective, formula.algorithm)->simple_uses_peer_memory;
    if (formula.terms(8).gammas == 0 || reads) continue;
    const int p = 8;
    const std::uint64_t size = std::uint64_t{128} * p * 512;
    const Terms terms = formula.terms(p);
    const double expected =
        terms.alphas * kAlpha + size * (terms.betas * kBeta + terms.gammas * kGamma);
    EXPECT_NEAR(Simulate(formula, p, size, WithPorts(p, kGamma)), expected, 1e-9 * expected)
        << Label(formula, p);
  }
}

TEST(TextbookTest, TreesTakeTheirDepth) {
  for (const Formula& formula : ConnectionFormulae()) {
    for (const int p : {4, 6, 8, 16, 32, 64}) {
      SimMachine machine = Alone(p);
      machine.node.bytes_per_second = 1 / kBeta;
      const std::uint64_t size = std::uint64_t{1} << 20;
      const Terms terms = formula.terms(p);
      const double expected = terms.alphas * kAlpha + terms.betas * size * kBeta;
      EXPECT_NEAR(Simulate(formula, p, size, machine), expected, 1e-9 * expected)
          << Label(formula, p);
    }
  }
}

TEST(TextbookTest, APipelineOfPiecesHidesItsStages) {
  // A chain of p ranks with m pieces: (p - 2 + m) (alpha + n/m beta), if a slot is free whenever it
  // is needed (reference 1.1, pipelining).
  const int p = 8;
  SimRequest request;
  request.row = FindAlgorithm(Collective::kBroadcast, "ring");
  request.counts = EvenCounts({Collective::kBroadcast, p, 0}, 1 << 20);
  request.parameters.slices = 1;
  SimMachine machine = WithPorts(p, 0);
  machine.node.alpha_seconds = 0;
  const double piece = 64.0 * 1024 * kBeta;
  const int pieces = (4 << 20) / (64 * 1024);
  const double expected = (p - 2 + pieces) * piece;
  EXPECT_NEAR(Simulation(request, machine).Run().seconds, expected, 1e-9 * expected);
}

TEST(TextbookTest, FewSlotsMakeTheSenderWaitForCredits) {
  // Two slots and a long way: every second message leaves when the slot of the one two before it is
  // known to be free, a message's time and two alphas later.
  SimRequest request;
  request.row = FindAlgorithm(Collective::kBroadcast, "naive_root");
  request.limits.slots = 2;
  request.parameters.slices = 1;
  const int messages = 16;
  request.counts =
      EvenCounts({Collective::kBroadcast, 2, 0}, messages * request.limits.slot_bytes / 4);
  SimMachine machine = Alone(2);
  machine.node.alpha_seconds = 1e-3;
  machine.node.bytes_per_second = 1 / kBeta;
  const double one = request.limits.slot_bytes * kBeta;
  const double expected = one + (messages / 2 - 1) * (one + 2 * machine.node.alpha_seconds) + one +
                          machine.node.alpha_seconds;
  EXPECT_NEAR(Simulation(request, machine).Run().seconds, expected, 1e-9 * expected);
}

TEST(TextbookTest, WhoReceivesCopies) {
  // A ring shift of two ranks: the message's time, then its copy out of the slots.
  const Formula shift{Collective::kSendRecv, "ring", [](int) { return Terms{1, 1}; }};
  SimMachine machine = WithPorts(2, 0);
  machine.copy_seconds_per_byte = 5e-11;
  const std::uint64_t size = 1 << 20;
  const double expected = kAlpha + size * (kBeta + machine.copy_seconds_per_byte);
  EXPECT_NEAR(Simulate(shift, 2, size, machine), expected, 1e-9 * expected);
}

}  // namespace
}  // namespace hockney
