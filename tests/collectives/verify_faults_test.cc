#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/builder.h"
#include "collectives/verify.h"

// What the verifier must refuse, and what it must let follow what.
namespace hockney {
namespace {

constexpr int kRanks = 5;
constexpr int kThreeCalls[] = {0, 0, 0};

// A row's programs for kRanks ranks, to be broken by hand.
struct Programs {
  Layout layout;
  std::vector<RankProgram> ranks;

  std::optional<FaultKind> Check(bool in_place = false) const {
    const CallPlan plan{.programs = ranks, .layout = &layout, .in_place = in_place};
    const Verdict verdict = Verify({&plan, 1}, kThreeCalls, {.slices = 1, .slots = 3});
    if (!verdict.fault) return std::nullopt;
    return verdict.fault->kind;
  }
  Lane& LaneOf(int rank) { return ranks[rank].lanes[0]; }
  Step& LastStep(int rank) { return LaneOf(rank).steps[LaneOf(rank).step_count - 1]; }
};

Programs Build(Collective collective, std::string_view name, const Parameters& parameters = {},
               int root = 0) {
  const Shape shape{.collective = collective, .ranks = kRanks, .root = root};
  std::vector<RankProgram> ranks = BuildAll(*FindAlgorithm(collective, name), shape, parameters);
  const Cut cut = ranks[0].cut;
  return {.layout = Layout(EvenCounts(shape, std::uint64_t{128} * cut.lanes * cut.chunks),
                           DataType::kInt8, cut),
          .ranks = std::move(ranks)};
}

void DropFirstSteps(Lane& lane, int count) {
  std::copy(lane.steps + count, lane.steps + lane.step_count, lane.steps);
  lane.step_count = static_cast<std::int16_t>(lane.step_count - count);
}

// A rank that leaves early finds its output not yet written, or being written.
TEST(BrokenProgramTest, TwoShotWithoutExitWaitIsRejected) {
  for (int rank = 0; rank < kRanks; ++rank) {
    Programs programs = Build(Collective::kAllReduce, "two_shot");
    ASSERT_EQ(programs.LastStep(rank).wait_count, 1);
    --programs.LaneOf(rank).step_count;
    const std::optional<FaultKind> fault = programs.Check();
    EXPECT_TRUE(fault == FaultKind::kRace || fault == FaultKind::kWrongResult) << rank;
  }
}

TEST(BrokenProgramTest, LateRankWithoutExitWaitIsARace) {
  for (const char* name : {"one_shot", "two_shot"}) {
    Programs programs = Build(Collective::kAllReduce, name);
    --programs.LaneOf(kRanks - 2).step_count;
    EXPECT_EQ(programs.Check(), FaultKind::kRace) << name;
  }
}

// Its user rewrites the input that peers still read.
TEST(BrokenProgramTest, OneShotWithoutExitWaitIsARace) {
  for (int rank = 0; rank < kRanks; ++rank) {
    Programs programs = Build(Collective::kAllReduce, "one_shot");
    --programs.LaneOf(rank).step_count;
    EXPECT_EQ(programs.Check(), FaultKind::kRace) << rank;
  }
}

// No counter is left over, yet nothing orders a rank's return and its peers' accesses.
TEST(BrokenProgramTest, PeerShapesWithoutExitMeetingAreRejected) {
  for (const char* name : {"one_shot", "two_shot"}) {
    Programs programs = Build(Collective::kAllReduce, name);
    for (int rank = 0; rank < kRanks; ++rank) {
      programs.LaneOf(rank).step_count =
          static_cast<std::int16_t>(programs.LaneOf(rank).step_count - 2);
    }
    EXPECT_TRUE(programs.Check().has_value()) << name;
  }
}

TEST(BrokenProgramTest, PeerShapesWithoutEntryMeetingAreRejected) {
  for (const char* name : {"one_shot", "two_shot"}) {
    Programs programs = Build(Collective::kAllReduce, name);
    for (int rank = 0; rank < kRanks; ++rank) DropFirstSteps(programs.LaneOf(rank), 2);
    const std::optional<FaultKind> fault = programs.Check();
    EXPECT_TRUE(fault == FaultKind::kRace || fault == FaultKind::kWrongResult) << name;
  }
}

// Only this rank starts without knowing that its peers are in the call.
TEST(BrokenProgramTest, MissingEntryWaitIsRejected) {
  for (int rank = 0; rank < kRanks; ++rank) {
    Programs programs = Build(Collective::kAllGather, "direct");
    Lane& lane = programs.LaneOf(rank);
    ASSERT_EQ(lane.steps[1].wait_count, 1);
    lane.steps[1].wait_count = 0;
    EXPECT_TRUE(programs.Check().has_value()) << rank;
  }
}

TEST(BrokenProgramTest, DoubledContributionIsAWrongResult) {
  Programs programs = Build(Collective::kAllReduce, "ring");
  Step& reduce = programs.LaneOf(2).steps[1];
  ASSERT_TRUE(reduce.reduce);
  reduce.source[reduce.source_count++] = reduce.source[1];
  EXPECT_EQ(programs.Check(), FaultKind::kWrongResult);
}

TEST(BrokenProgramTest, WrongRootIsRejected) {
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
    for (const char* name : {"ring", "double_binary_tree", "direct", "naive_root"}) {
      if (FindAlgorithm(collective, name) == nullptr) continue;
      const Programs right = Build(collective, name, {}, 1);
      Programs all = Build(collective, name, {}, 1);
      all.ranks = Build(collective, name, {}, 2).ranks;
      EXPECT_TRUE(all.Check().has_value()) << Name(collective) << " " << name;
      for (const int rank : {1, 2}) {  // others may do the same for either root
        Programs one = right;
        one.ranks[rank] = all.ranks[rank];
        EXPECT_TRUE(one.Check().has_value()) << Name(collective) << " " << name << " " << rank;
      }
    }
  }
}

TEST(BrokenProgramTest, MessageLeftOverIsAnExitState) {
  Programs programs = Build(Collective::kAllReduce, "ring");
  Lane& lane = programs.LaneOf(1);
  lane.steps[lane.step_count++] = lane.steps[0];
  EXPECT_EQ(programs.Check(), FaultKind::kExitState);
}

TEST(BrokenProgramTest, TokenLeftOverIsAnExitState) {
  Programs programs = Build(Collective::kBarrier, "direct");
  Lane& lane = programs.LaneOf(1);
  lane.steps[lane.step_count++] = Post(Peer(Rank(3)));
  EXPECT_EQ(programs.Check(), FaultKind::kExitState);
}

TEST(BrokenProgramTest, BarrierThatAsksOnePeerOnlyIsRejected) {
  Programs programs = Build(Collective::kBarrier, "direct");
  for (int rank = 0; rank < kRanks; ++rank) {
    programs.LaneOf(rank).steps[0] = Post(Peer(Rank((rank + 1) % kRanks)));
    programs.LaneOf(rank).steps[1] = Wait(Peer(Rank((rank + kRanks - 1) % kRanks)));
  }
  EXPECT_EQ(programs.Check(), FaultKind::kWrongResult);
}

TEST(BrokenProgramTest, WritingAnInputIsMalformed) {
  Programs programs = Build(Collective::kAllReduce, "recursive_doubling");
  Step& step = programs.LastStep(3);
  ASSERT_EQ(step.destination[0].buffer, Buffer::kOutput);
  step.destination[0].buffer = Buffer::kInput;
  EXPECT_EQ(programs.Check(), FaultKind::kMalformed);
}

TEST(BrokenProgramTest, ReachingBeyondABufferIsMalformed) {
  for (const int start : {-1, kRanks, 30000}) {
    Programs programs = Build(Collective::kAllToAll, "direct");
    Step& step = programs.LaneOf(0).steps[2];
    step.source[0].run = {};
    step.source[0].run.start = static_cast<std::int16_t>(start);
    EXPECT_EQ(programs.Check(), FaultKind::kMalformed) << start;
  }
}

TEST(BrokenProgramTest, UnusedScratchIsNoBuffer) {
  Programs programs = Build(Collective::kAllToAll, "bruck");
  programs.ranks[4].uses_scratch = false;
  EXPECT_EQ(programs.Check(), FaultKind::kMalformed);
}

TEST(BrokenProgramTest, OperandsOfUnlikeLengthAreRefused) {
  Programs programs = Build(Collective::kAllGather, "bruck");
  programs.LastStep(0).source[0].run.count++;
  EXPECT_EQ(programs.Check(), FaultKind::kBytes);
}

// An average of integers would be divided twice.
TEST(BrokenProgramTest, FinishingAReductionTwiceIsAWrongResult) {
  Programs programs = Build(Collective::kAllReduce, "recursive_doubling");
  Lane& lane = programs.LaneOf(0);
  const ChunkRun run = lane.steps[lane.step_count - 1].source[0].run;
  lane.steps[lane.step_count++] = Final(Reduce({Output(run)}, {Output(run)}));
  EXPECT_EQ(programs.Check(), FaultKind::kWrongResult);
}

// Nobody knows where the second chunk begins.
TEST(BrokenProgramTest, PassingOnSeveralChunksUnseenIsMalformed) {
  Programs programs = Build(Collective::kBroadcast, "ring");
  Step& step = programs.LaneOf(1).steps[0];
  ASSERT_EQ(step.destination_count, 2);
  step.destination[0] = step.destination[1];
  step.destination_count = 1;
  step.source[0].run.count = step.destination[0].run.count = 2;
  EXPECT_EQ(programs.Check(), FaultKind::kMalformed);
}

TEST(BrokenProgramTest, PeersMemoryEndsAtTheNode) {
  const Programs programs = Build(Collective::kAllReduce, "two_shot");
  const RankPlacement placement = {.node_of_rank = {0, 0, 0, 1, 1}, .rack_of_node = {}};
  CallPlan plan{.programs = programs.ranks, .layout = &programs.layout};
  EXPECT_FALSE(Verify({&plan, 1}, kThreeCalls, {.slices = 1, .slots = 3}).fault.has_value());
  plan.placement = &placement;
  const Verdict verdict = Verify({&plan, 1}, kThreeCalls, {.slices = 1, .slots = 3});
  ASSERT_TRUE(verdict.fault.has_value());
  EXPECT_EQ(verdict.fault->kind, FaultKind::kMalformed);
  EXPECT_NE(verdict.fault->text.find("another node"), std::string::npos) << verdict.fault->text;
}

TEST(BrokenProgramTest, ALaneInAForeignGroupIsMalformed) {
  for (const std::vector<std::int16_t>& members :
       {std::vector<std::int16_t>{1, 2}, {0, 0, 1}, {0, 9}, {}}) {
    Programs programs = Build(Collective::kAllReduce, "ring");
    programs.ranks[0].groups = {members};
    programs.LaneOf(0).group = 0;
    EXPECT_EQ(programs.Check(), FaultKind::kMalformed) << members.size();
  }
}

TEST(BrokenProgramTest, CopyOfTwoSourcesIsMalformed) {
  Programs programs = Build(Collective::kAllReduce, "ring");
  programs.LaneOf(0).steps[1].reduce = false;
  EXPECT_EQ(programs.Check(), FaultKind::kMalformed);
}

// The executors ask once for each token, message and credit of a step.
TEST(BrokenProgramTest, TwoTokensOrMessagesOfOneConnectionInAStepAreMalformed) {
  Programs tokens = Build(Collective::kBarrier, "direct");
  tokens.LaneOf(0).steps[1] = Wait(Peer(Rank(2)), Wait(AllPeers()));
  tokens.LaneOf(2).steps[0] = Post(Peer(Rank(0)), Post(AllPeers()));
  EXPECT_EQ(tokens.Check(), FaultKind::kMalformed);

  Programs messages = Build(Collective::kAllReduce, "naive_root");
  Step& first = messages.LaneOf(0).steps[0];
  first.source[first.source_count++] = first.source[1];
  EXPECT_EQ(messages.Check(), FaultKind::kMalformed);

  Programs credits = Build(Collective::kBroadcast, "ring");
  Step& root = credits.LaneOf(0).steps[0];
  root.destination[root.destination_count++] = root.destination[1];
  EXPECT_EQ(credits.Check(), FaultKind::kMalformed);
}

// Chunk by chunk the second chunk is read after the first was written there; apart it is not.
TEST(BrokenProgramTest, RunThatOverwritesWhatItReadsIsMalformed) {
  for (const bool in_place : {false, true}) {
    Programs programs = Build(Collective::kAllReduce, "halving_doubling");
    Lane& lane = programs.LaneOf(0);
    Operand source = in_place ? lane.steps[0].source[1] : lane.steps[0].destination[0];
    ASSERT_EQ(source.run.count, 4);
    source = in_place ? Input(source.run) : Output(source.run);
    source.run.count = 3;
    Operand target = Output(source.run);
    ++target.run.start;
    Step& last = lane.steps[lane.step_count++];
    last = Copy(source, {target});
    EXPECT_EQ(programs.Check(in_place), FaultKind::kMalformed) << in_place;
  }
}

TEST(BrokenProgramTest, OneShotBuiltApartIsARaceInPlace) {
  const Programs programs = Build(Collective::kAllReduce, "one_shot");
  EXPECT_EQ(programs.Check(false), std::nullopt);
  EXPECT_EQ(programs.Check(true), FaultKind::kRace);
  Parameters parameters;
  parameters.in_place = true;
  EXPECT_EQ(Build(Collective::kAllReduce, "one_shot", parameters).Check(true), std::nullopt);
}

struct Call {
  const char* name;
  int lanes;
  int pieces;
  int root;
  Collective collective;
  Protocol protocol;
};
constexpr Call kCalls[] = {
    {"ring", 2, 3, 0, Collective::kAllReduce, Protocol::kSimple},
    {"double_binary_tree", 1, 2, 0, Collective::kAllReduce, Protocol::kSimple},
    {"halving_doubling", 1, 1, 0, Collective::kAllReduce, Protocol::kLl},
    {"two_shot", 2, 1, 0, Collective::kAllReduce, Protocol::kSimple},
    {"one_shot", 1, 2, 0, Collective::kAllReduce, Protocol::kLl},
    {"pat", 1, 2, 0, Collective::kReduceScatter, Protocol::kSimple},
    {"bruck", 2, 1, 0, Collective::kAllGather, Protocol::kSimple},
    {"direct", 1, 1, 0, Collective::kAllGather, Protocol::kSimple},
    {"pairwise", 1, 3, 0, Collective::kAllToAll, Protocol::kLl},
    {"naive_root", 2, 2, 0, Collective::kAllToAll, Protocol::kSimple},
    {"ring", 1, 2, 3, Collective::kBroadcast, Protocol::kSimple},
    {"double_binary_tree", 2, 1, 1, Collective::kReduce, Protocol::kLl},
    {"direct", 2, 1, 4, Collective::kGather, Protocol::kSimple},
    {"naive_root", 1, 1, 2, Collective::kScatter, Protocol::kSimple},
    {"recursive_doubling", 1, 1, 0, Collective::kBarrier, Protocol::kSimple},
    {"direct", 2, 1, 0, Collective::kSendRecv, Protocol::kSimple},
};

// The calls share connections and counters and are not told apart by names.
TEST(SequenceTest, AnyCallMayFollowAnyOther) {
  std::vector<Programs> calls;
  for (const Call& call : kCalls) {
    Parameters parameters;
    parameters.lanes = call.lanes;
    parameters.pieces = call.pieces;
    parameters.protocol = call.protocol;
    calls.push_back(Build(call.collective, call.name, parameters, call.root));
  }
  constexpr int kPairTwice[] = {0, 1, 0, 1};
  for (std::size_t p = 0; p < calls.size(); ++p) {
    for (std::size_t q = 0; q < calls.size(); ++q) {
      const CallPlan plans[] = {{.programs = calls[p].ranks, .layout = &calls[p].layout},
                                {.programs = calls[q].ranks, .layout = &calls[q].layout}};
      const Verdict verdict = Verify(plans, kPairTwice, {.slices = 2, .slots = 3});
      EXPECT_FALSE(verdict.fault.has_value())
          << kCalls[p].name << "; " << kCalls[q].name << ": " << verdict.fault->text;
    }
  }
}

// The first call of the pair leaves a message that the second would take for its own.
TEST(SequenceTest, LeftOverOfTheFirstCallIsNoticedInTheSecond) {
  Programs first = Build(Collective::kAllReduce, "ring");
  const Programs second = Build(Collective::kAllGather, "ring");
  first.LaneOf(1).steps[first.LaneOf(1).step_count++] = first.LaneOf(1).steps[0];
  const CallPlan plans[] = {{.programs = first.ranks, .layout = &first.layout},
                            {.programs = second.ranks, .layout = &second.layout}};
  constexpr int kPair[] = {0, 1};
  const Verdict verdict = Verify(plans, kPair, {.slices = 1, .slots = 3});
  ASSERT_TRUE(verdict.fault.has_value());
  EXPECT_EQ(verdict.fault->kind, FaultKind::kExitState);
}

}  // namespace
}  // namespace hockney
