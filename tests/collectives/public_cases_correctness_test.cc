// Reports of wrong results in other libraries (B09 to B17: numbers of the project's collection of
// public cases), with the right values stated. On the host executor; tests/bench has the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/collectives/exact_call.h"
#include "tests/collectives/host_ground.h"

namespace hockney {
namespace {

using testing::ExactCall;
using testing::ForEachVariant;
using testing::RunExactly;

template <class T>
using ByRank = std::vector<std::vector<T>>;

bool HasInPlace(Collective collective) {
  const Shape shape{collective, 2, 0};
  return Layout(EvenCounts(shape, 1), DataType::kInt8, Cut{}).FindInPlace(0).supported;
}

// Numbers first, first + 1, ...
std::vector<double> Ramp(double first, std::size_t count) {
  std::vector<double> ramp(count);
  std::iota(ramp.begin(), ramp.end(), first);
  return ramp;
}

// B09: with one rank every result is the input, every bit of it, whatever the count.
class OneRankTest : public ::testing::TestWithParam<Collective> {};

TEST_P(OneRankTest, B09OutputIsTheInputForEveryTypeAndOperator) {
  std::vector<std::byte> given;
  const auto expect_input = [&](ExactCall call, std::uint64_t count) {
    call.counts = EvenCounts({GetParam(), 1, 0}, count);
    const auto fill = [&](int, std::span<std::byte> input) {
      testing::FillFinite(call.type, count, input);
      given.assign(input.begin(), input.end());
    };
    const auto check = [&](int, std::span<const std::byte> output) {
      const bool same = std::equal(output.begin(), output.end(), given.begin(), given.end());
      return same ? "" : "the output is not the input";
    };
    EXPECT_EQ(RunExactly(call, fill, check), "") << count;
  };
  ForEachVariant(GetParam(), [&](ExactCall call) {
    for (const ReduceOp op : kAllReduceOps) {
      if (op != ReduceOp::kSum && !Reduces(GetParam())) continue;
      call.op = op;
      call.type = DataType::kBfloat16;
      for (const std::uint64_t count : {1, 31, 32, 33, 10007}) expect_input(call, count);
      call.in_place = HasInPlace(GetParam());
      expect_input(call, 33);
      call.in_place = false;
      if (op != ReduceOp::kSum && op != ReduceOp::kAvg) continue;
      for (const DataType type : kAllDataTypes) {
        call.type = type;
        expect_input(call, 33);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(PublicCaseTest, OneRankTest,
                         ::testing::Values(Collective::kAllReduce, Collective::kReduceScatter,
                                           Collective::kAllGather, Collective::kAllToAll,
                                           Collective::kBroadcast, Collective::kReduce,
                                           Collective::kGather, Collective::kScatter,
                                           Collective::kSendRecv),
                         [](const auto& of) { return std::string(Name(of.param)); });

// Small whole numbers, whose sums over 8 ranks are exact in float32.
float SmallNumber(int rank, std::size_t element) {
  return static_cast<float>((element * 5 + static_cast<std::size_t>(rank) * 7) % 23);
}

// "" if an all-reduce of so many float32 over 8 ranks is right in every element.
std::string SumSmallNumbers(ExactCall call, std::uint64_t count) {
  call.type = DataType::kFloat32;
  call.counts = EvenCounts({Collective::kAllReduce, 8, 0}, count);
  // The numbers repeat after 23 elements.
  std::array<float, 23> expected{};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (int rank = 0; rank < 8; ++rank) expected[i] += SmallNumber(rank, i);
  }
  return RunExactly(
      call,
      [](int rank, std::span<std::byte> input) {
        std::array<float, 23> numbers{};
        for (std::size_t i = 0; i < 23; ++i) numbers[i] = SmallNumber(rank, i);
        for (std::size_t at = 0; at < input.size(); at += sizeof numbers) {
          std::memcpy(&input[at], numbers.data(), std::min(sizeof numbers, input.size() - at));
        }
      },
      [&](int, std::span<const std::byte> output) -> std::string {
        for (std::size_t at = 0; at < output.size(); at += sizeof expected) {
          const std::size_t bytes = std::min(sizeof expected, output.size() - at);
          if (std::memcmp(&output[at], expected.data(), bytes) != 0) {
            return "wrong near element " + std::to_string(at / sizeof(float));
          }
        }
        return "";
      });
}

// B10: no count has to be a multiple of ranks, vector width or 128 bytes. The small counts have the
// reported ones' remainders modulo 8 ranks of 128 bytes.
TEST(PublicCaseTest, B10AllReduceOfEightRanksIsRightForCountsThatDivideByNothing) {
  constexpr std::uint64_t kReported[] = {10556587, 10556576, 10556592, 10556608,
                                         1048576,  9999999,  12345678};
  ForEachVariant(Collective::kAllReduce, [&](const ExactCall& call) {
    for (const std::uint64_t count : kReported) {
      EXPECT_EQ(SumSmallNumbers(call, 8192 + count % (8 * 32)), "") << count;
    }
  });
}

TEST(PublicCaseTest, B10TheReportedCountItselfIsRight) {
  ExactCall call;
  call.row = FindAlgorithm(Collective::kAllReduce, "two_shot");
  EXPECT_EQ(SumSmallNumbers(call, 10556587), "");
}

// 73 elements over 4 ranks: blocks of 19, 18, 18 and 18.
TEST(PublicCaseTest, B10UnequalBlocksAddUpToTheWhole) {
  constexpr int kRanks = 4;
  int rows = 0;
  ForEachVariant(Collective::kReduceScatter, [&](ExactCall call) {
    if (call.row->equal_blocks) return;
    ++rows;
    call.counts = EvenCounts({Collective::kReduceScatter, kRanks, 0}, 18);
    call.counts.counts[0] = 19;
    ByRank<double> inputs;
    for (int rank = 0; rank < kRanks; ++rank) inputs.push_back(Ramp(100 * rank, 73));
    ByRank<double> outputs;
    for (int rank = 0, first = 0; rank < kRanks; ++rank) {
      std::vector<double> sum = Ramp(first, rank == 0 ? 19 : 18);
      for (double& value : sum) value = kRanks * value + 600;
      first += static_cast<int>(sum.size());
      outputs.push_back(sum);
    }
    for (const bool in_place : {false, true}) {
      call.in_place = in_place;
      EXPECT_EQ(RunExactly(call, inputs, outputs), "");
    }
  });
  EXPECT_GT(rows, 0);
}

// B12: fewer elements than ranks, and none. The reference interpreter says what is right; that it
// is, its own tests and the verifier say.
class FewElementsTest : public ::testing::TestWithParam<int> {};

TEST_P(FewElementsTest, B12EveryAlgorithmIsRightForFewerElementsThanRanks) {
  const int ranks = GetParam();
  std::vector<testing::ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : testing::ProtocolsOf(row)) {
      for (const int count : {0, 1, 2, ranks - 1, ranks, ranks + 1}) {
        testing::ExecutorCase test;
        test.row = &row;
        const int root = HasRoot(row.collective) ? count % ranks : 0;
        test.counts = EvenCounts({row.collective, ranks, root}, static_cast<std::uint64_t>(count));
        test.parameters.protocol = protocol;
        // Half of them in place.
        test.in_place = HasInPlace(row.collective) && cases.size() % 2 == 0;
        cases.push_back(test);
      }
    }
  }
  std::string wrong;
  RunThreadRanks(ranks, 60, [&](Session& session) {
    HostDomain::Options options;
    options.limits.slot_bytes = 4096;
    for (const auto& test : cases) {
      options.arena_bytes = std::max(options.arena_bytes, testing::ArenaBytes(test));
    }
    HostDomain domain(session, options);
    HostExecutor executor(session, domain, {.oversubscribed = true, .timeout_seconds = 60});
    for (const auto& test : cases) {
      const std::string found =
          testing::RunCase(session, testing::HostGround(domain, executor), test, 1);
      if (session.rank() == 0 && wrong.empty()) wrong = found;
    }
  });
  EXPECT_EQ(wrong, "");
}

INSTANTIATE_TEST_SUITE_P(PublicCaseTest, FewElementsTest,
                         ::testing::Values(1, 2, 3, 5, 7, 8, 13, 16));

// B14: in place is as right as apart, and apart no input is written to (RunExactly looks).
TEST(PublicCaseTest, B14SumInPlaceOverFourRanksIsRight) {
  const ByRank<double> inputs = {{0, 0}, {1, 1}, {2, 1.0 / 2}, {3, 1.0 / 3}};
  const ByRank<double> outputs(4, {6, 1.8333333333333333});
  ForEachVariant(Collective::kAllReduce, [&](ExactCall call) {
    call.counts = EvenCounts({Collective::kAllReduce, 4, 0}, 2);
    for (const bool in_place : {false, true}) {
      call.in_place = in_place;
      EXPECT_EQ(RunExactly(call, inputs, outputs), "");
    }
  });
}

TEST(PublicCaseTest, B14MinimumInPlaceOverThreeRanksIsRight) {
  const ByRank<double> inputs = {{10}, {-300}, {-150}};
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduce}) {
    ForEachVariant(collective, [&](ExactCall call) {
      call.op = ReduceOp::kMin;
      for (int root = 0; root < (HasRoot(collective) ? 3 : 1); ++root) {
        call.counts = EvenCounts({collective, 3, root}, 1);
        ByRank<double> outputs(3, {-300});
        for (int rank = 0; HasRoot(collective) && rank < 3; ++rank) {
          if (rank != root) outputs[rank].clear();
        }
        for (const bool in_place : {false, true}) {
          call.in_place = in_place;
          EXPECT_EQ(RunExactly(call, inputs, outputs), "");
        }
      }
    });
  }
}

TEST(PublicCaseTest, B14NoAlgorithmUsesTheInputAsScratch) {
  constexpr int kRanks = 4;
  for (const Collective collective : kAllCollectives) {
    if (collective == Collective::kBarrier) continue;
    ForEachVariant(collective, [&](ExactCall call) {
      call.type = DataType::kInt32;
      call.counts = EvenCounts({collective, kRanks, HasRoot(collective) ? 1 : 0}, 5003);
      call.calls = 2;
      EXPECT_EQ(RunExactly(
                    call,
                    [&](int rank, std::span<std::byte> input) {
                      testing::FillFinite(call.type, static_cast<std::uint64_t>(rank), input);
                    },
                    [](int, std::span<const std::byte>) { return ""; }),
                "");
    });
  }
}

// B15: in place means NCCL's offsets. Buffers of a rank lie where Layout::FindInPlace says, which
// LayoutTest.InPlaceOffsetsAreNccls states: the rank's block of the longer buffer.
TEST(PublicCaseTest, B15GatherInPlaceKeepsTheOrderForEveryRoot) {
  for (const int ranks : {2, 3, 5}) {
    ForEachVariant(Collective::kGather, [&](ExactCall call) {
      for (int root = 0; root < ranks; ++root) {
        call.counts = EvenCounts({Collective::kGather, ranks, root}, 1);
        ByRank<double> inputs;
        for (int rank = 0; rank < ranks; ++rank) inputs.push_back({10.0 + rank});
        ByRank<double> outputs(ranks);
        outputs[root] = Ramp(10, ranks);
        for (const bool in_place : {false, true}) {
          call.in_place = in_place;
          EXPECT_EQ(RunExactly(call, inputs, outputs), "");
        }
      }
    });
  }
}

TEST(PublicCaseTest, B15ScatterInPlaceKeepsTheOrderForEveryRoot) {
  for (const int ranks : {2, 3, 5}) {
    ForEachVariant(Collective::kScatter, [&](ExactCall call) {
      for (int root = 0; root < ranks; ++root) {
        call.counts = EvenCounts({Collective::kScatter, ranks, root}, 2);
        ByRank<double> inputs(ranks);
        inputs[root] = Ramp(0, 2 * static_cast<std::size_t>(ranks));
        ByRank<double> outputs;
        for (int rank = 0; rank < ranks; ++rank) outputs.push_back(Ramp(2 * rank, 2));
        for (const bool in_place : {false, true}) {
          call.in_place = in_place;
          EXPECT_EQ(RunExactly(call, inputs, outputs), "");
        }
      }
    });
  }
}

TEST(PublicCaseTest, B15ReduceScatterInPlaceLeavesBlockRAtItsPlace) {
  constexpr std::size_t kCount = 3;
  for (const int ranks : {2, 3, 5}) {
    ForEachVariant(Collective::kReduceScatter, [&](ExactCall call) {
      call.counts = EvenCounts({Collective::kReduceScatter, ranks, 0}, kCount);
      ByRank<double> inputs;
      for (int rank = 0; rank < ranks; ++rank) inputs.push_back(Ramp(100 * rank, kCount * ranks));
      ByRank<double> outputs;
      for (int rank = 0; rank < ranks; ++rank) {
        outputs.push_back(Ramp(static_cast<double>(kCount) * rank, kCount));
        for (double& value : outputs[rank]) value = ranks * value + 50.0 * ranks * (ranks - 1);
      }
      for (const bool in_place : {false, true}) {
        call.in_place = in_place;
        EXPECT_EQ(RunExactly(call, inputs, outputs), "");
      }
    });
  }
}

TEST(PublicCaseTest, B15AllGatherInPlaceReadsBlockROfTheOutput) {
  constexpr std::size_t kCount = 3;
  for (const int ranks : {2, 3, 5}) {
    ForEachVariant(Collective::kAllGather, [&](ExactCall call) {
      call.counts = EvenCounts({Collective::kAllGather, ranks, 0}, kCount);
      ByRank<double> inputs;
      for (int rank = 0; rank < ranks; ++rank) {
        inputs.push_back(Ramp(static_cast<double>(kCount) * rank, kCount));
      }
      const ByRank<double> outputs(ranks, Ramp(0, kCount * ranks));
      for (const bool in_place : {false, true}) {
        call.in_place = in_place;
        EXPECT_EQ(RunExactly(call, inputs, outputs), "");
      }
    });
  }
}

// B17: what a rank passes for a buffer that only the root has is never looked at: null, or an
// address that would end the program.
std::vector<std::byte*> IgnoredPointers() {
  return {nullptr, reinterpret_cast<std::byte*>(8)};  // NOLINT(performance-no-int-to-ptr)
}

TEST(PublicCaseTest, B17ScatterIgnoresTheInputOfOtherRanks) {
  constexpr int kRanks = 6;
  for (std::byte* const ignored : IgnoredPointers()) {
    ForEachVariant(Collective::kScatter, [&](ExactCall call) {
      call.absent_buffer = ignored;
      for (const int root : {0, 5}) {
        call.counts = EvenCounts({Collective::kScatter, kRanks, root}, 1000);
        ByRank<double> inputs(kRanks);
        inputs[root] = Ramp(0, 6000);
        ByRank<double> outputs;
        for (int rank = 0; rank < kRanks; ++rank) outputs.push_back(Ramp(1000.0 * rank, 1000));
        EXPECT_EQ(RunExactly(call, inputs, outputs), "");
      }
    });
  }
}

TEST(PublicCaseTest, B17GatherReduceAndBroadcastIgnoreWhatOnlyTheRootHas) {
  constexpr int kRanks = 6;
  for (std::byte* const ignored : IgnoredPointers()) {
    for (const int root : {0, 5}) {
      ByRank<double> each;
      for (int rank = 0; rank < kRanks; ++rank) each.push_back(Ramp(1000.0 * rank, 1000));
      ByRank<double> only_root(kRanks);
      const auto run = [&](Collective collective, const ByRank<double>& inputs,
                           const ByRank<double>& outputs) {
        ForEachVariant(collective, [&](ExactCall call) {
          call.absent_buffer = ignored;
          call.counts = EvenCounts({collective, kRanks, root}, 1000);
          EXPECT_EQ(RunExactly(call, inputs, outputs), "");
        });
      };
      only_root[root] = Ramp(0, 6000);
      run(Collective::kGather, each, only_root);
      only_root[root] = Ramp(0, 1000);
      run(Collective::kBroadcast, only_root, ByRank<double>(kRanks, Ramp(0, 1000)));
      for (double& value : only_root[root]) value = kRanks * value + 15000;
      run(Collective::kReduce, each, only_root);
    }
  }
}

}  // namespace
}  // namespace hockney
