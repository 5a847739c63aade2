// The interpreter of GPUs on threads of this CPU: every program's result equals the reference
// interpreter's bit for bit, and ThreadSanitizer sees its protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/executors/cuda/cuda_executor.h"
#include "tests/collectives/executor_cases.h"
#include "tests/collectives/placements.h"
#include "tests/collectives/thread_device.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::ExecutorCase;
using testing::Ground;

constexpr double kTimeoutSeconds = 60;

HostDomain::Options SmallSlots(int lanes, std::uint64_t first_count = 0) {
  HostDomain::Options options;
  options.lanes = lanes;
  options.limits.slot_bytes = 4096;  // short vectors take several pieces and slices
  options.limits.packet_slot_bytes = 2048;
  options.limits.memory_slice_bytes = 1024;
  options.first_count = first_count;
  return options;
}

// What a rank on a device consists of; each rank has a device of its own.
struct DeviceParts {
  std::unique_ptr<Device> device;
  CudaDomain domain;
  CudaExecutor executor;

  DeviceParts(Session& session, const HostDomain::Options& options,
              const CudaExecutor::Options& of_executor, int resident_blocks)
      : device(testing::MakeThreadDevice({.resident_blocks = resident_blocks})),
        domain(session, *device,
               {.arena_bytes = options.arena_bytes,
                .lanes = options.lanes,
                .limits = options.limits,
                .first_count = options.first_count,
                .kind = PeerMemoryKind::kFileDescriptor}),
        executor(session, domain, of_executor) {}
};

Ground GroundOf(Session& session, const std::shared_ptr<DeviceParts>& parts) {
  const CudaDomain& domain = parts->domain;
  Ground ground;
  ground.arena = domain.arena();
  ground.limits = domain.options().limits;
  ground.prepare = [parts](const Call& call, const Algorithm& row, const CallFlow& flow,
                           StorePolicy) { return parts->executor.Prepare(call, row, flow); };
  ground.write = [parts](std::span<const std::byte> bytes) {
    parts->device->Write(parts->domain.arena(), bytes);
  };
  ground.read = [parts](std::size_t bytes) {
    std::vector<std::byte> read(bytes);
    parts->device->Read(read, parts->domain.arena());
    return read;
  };
  ground.packets = [parts, &session](int peer) {
    const SegmentPlan& plan = parts->domain.rank().plan();
    std::byte* own = parts->domain.arena() - plan.ControlBytes();
    const Connection end = plan.Join(0, session.rank(), own, peer, own, 0);
    std::vector<std::uint64_t> words(plan.limits().slots * plan.PacketWords());
    parts->device->Read(std::as_writable_bytes(std::span(words)),
                        reinterpret_cast<const std::byte*>(end.packet_inbox));
    return words;
  };
  return ground;
}

testing::MakeGround Blocks(int threads) {
  return [threads](Session& session, const HostDomain::Options& options) {
    return GroundOf(
        session,
        std::make_shared<DeviceParts>(
            session, options,
            CudaExecutor::Options{.threads = threads, .timeout_seconds = kTimeoutSeconds}, 1024));
  };
}

std::string RunBlocks(int ranks, const std::vector<ExecutorCase>& cases, int threads,
                      std::uint64_t first_count = 0) {
  return testing::RunCases(ranks, cases, SmallSlots(16, first_count), 2, Blocks(threads));
}

bool HasInPlace(Collective collective) {
  return Layout(EvenCounts({collective, 2, 0}, 1), DataType::kInt8, Cut{}).FindInPlace(0).supported;
}

// Every row but hierarchical, with counts, types, operators, slices and lanes by turns.
std::vector<ExecutorCase> AllRows(int ranks, Protocol protocol) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt8, DataType::kBfloat16,
                                 DataType::kFloat64, DataType::kInt32};
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMax};
  const std::uint64_t counts[] = {1031, 1, 0, 257, static_cast<std::uint64_t>(ranks) + 1};
  std::vector<ExecutorCase> cases;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.name == kHierarchical || (protocol == Protocol::kLl && !row.has_ll)) continue;
    const std::size_t turn = cases.size();
    ExecutorCase test;
    test.row = &row;
    test.parameters.protocol = protocol;
    test.parameters.lanes = 1 + static_cast<int>(turn % 2);
    test.parameters.slices = 1 + static_cast<int>(turn % 3);
    const int root = HasRoot(row.collective) ? static_cast<int>(turn % ranks) : 0;
    test.counts = EvenCounts({row.collective, ranks, root}, counts[turn % std::size(counts)]);
    test.type = kTypes[turn % std::size(kTypes)];
    test.op = Reduces(row.collective) ? kOps[turn % std::size(kOps)] : ReduceOp::kSum;
    test.misalignment = turn % 3 == 0 ? ElementBytes(test.type) : 0;
    cases.push_back(test);
    test.in_place = true;
    test.counts = EvenCounts({row.collective, ranks, root}, 515);
    if (HasInPlace(row.collective)) cases.push_back(test);
  }
  return cases;
}

TEST(BlockMachineTest, EveryRowEqualsTheReference) {
  EXPECT_EQ(RunBlocks(3, AllRows(3, Protocol::kSimple), 2), "");
  EXPECT_EQ(RunBlocks(4, AllRows(4, Protocol::kSimple), 1), "");
}

TEST(BlockMachineTest, EveryRowEqualsTheReferenceInPackets) {
  EXPECT_EQ(RunBlocks(3, AllRows(3, Protocol::kLl), 2), "");
  EXPECT_EQ(RunBlocks(2, AllRows(2, Protocol::kLl), 3), "");
}

TEST(BlockMachineTest, CountersAndFlagsPassTheirEnds) {
  const auto cases = AllRows(2, Protocol::kLl);
  EXPECT_EQ(RunBlocks(2, cases, 2, (std::uint64_t{1} << 31) - 20), "");
  EXPECT_EQ(RunBlocks(2, cases, 2, (std::uint64_t{1} << 32) - 20), "");
}

TEST(BlockMachineTest, PacketsAreCleanBeforeTheirFlagsStartAgain) {
  EXPECT_EQ(testing::CountPacketsLeft((std::uint64_t{1} << 31) - 8, Blocks(2)), 0);
  EXPECT_GT(testing::CountPacketsLeft(0, Blocks(2)), 0) << "so the count above says something";
}

TEST(BlockMachineTest, HierarchicalRowsEqualTheReference) {
  const RankPlacement placement =
      testing::PlaceRanks(testing::Even(2, 2), testing::RankOrder::kRoundRobin);
  std::vector<ExecutorCase> cases;
  for (const Collective collective : testing::HierarchicalCollectives()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      ExecutorCase test;
      test.row = FindAlgorithm(collective, kHierarchical);
      test.parameters.protocol = protocol;
      test.parameters.placement = &placement;
      const auto levels = UsualLevels(collective, protocol, &placement);
      if (levels.empty()) continue;
      test.parameters.levels = levels.back();
      test.counts = EvenCounts({collective, 4, 0}, 301);
      cases.push_back(test);
    }
  }
  EXPECT_EQ(RunBlocks(4, cases, 2), "");
}

// Makes a ring all-reduce of two ranks ready on a device of `resident_blocks`.
std::unique_ptr<Prepared> PrepareRing(Session& session, DeviceParts& parts, int lanes) {
  const Algorithm& row = *FindAlgorithm(Collective::kAllReduce, "ring");
  Call call;
  call.shape = {Collective::kAllReduce, session.ranks(), 0};
  call.counts = EvenCounts(call.shape, 64);
  call.input = parts.domain.arena();
  call.output = parts.domain.arena() + 1024;
  Parameters parameters;
  parameters.lanes = lanes;
  return parts.executor.Prepare(
      call, row,
      ChooseFlow(row, call.counts, call.type, parameters, parts.domain.options().limits));
}

TEST(CudaExecutorTest, ARankThatDoesNotComeEndsTheOthersWait) {
  RunThreadRanks(2, 30, [](Session& session) {
    HostDomain::Options options = SmallSlots(4);
    options.arena_bytes = 4096;
    DeviceParts parts(session, options, {.threads = 2, .timeout_seconds = 0.2}, 1024);
    const auto prepared = PrepareRing(session, parts, 1);
    if (session.rank() == 0) {
      EXPECT_THAT([&] { prepared->Run(); },
                  ::testing::ThrowsMessage<TimeoutError>(::testing::AllOf(
                      ::testing::HasSubstr("rank 0 waited 0.2"), ::testing::HasSubstr("all_reduce"),
                      ::testing::HasSubstr("lane 0 at step"))));
    }
    session.Barrier();
  });
}

TEST(CudaExecutorTest, MoreBlocksThanTheDeviceHoldsAreRefusedOnEveryRank) {
  RunThreadRanks(2, 30, [](Session& session) {
    HostDomain::Options options = SmallSlots(8);
    options.arena_bytes = 4096;
    // Rank 1's device is the small one.
    DeviceParts parts(session, options, {.threads = 1, .ranks_on_device = 2, .timeout_seconds = 20},
                      session.rank() == 0 ? 64 : 7);
    PrepareRing(session, parts, 3)->Run();
    EXPECT_THAT([&] { PrepareRing(session, parts, 4); },
                ::testing::ThrowsMessage<std::invalid_argument>(
                    ::testing::HasSubstr("expected at most 7 of 1 threads")));
  });
}

}  // namespace
}  // namespace hockney
