#include <string>
#include <vector>

#include "tests/gpu/block_ranks.h"
#include "tests/gpu/section_parts.h"

namespace hockney::testing {
namespace {

// Runs the cases with ranks as blocks of one launch.
SectionResult RunTogether(const SectionOptions& options, int ranks,
                          const std::vector<ExecutorCase>& cases, const DomainOptions& domain,
                          int calls) {
  const auto device = options.open();
  BlockRanks together(*device, ranks, WithRoomFor(cases, domain));
  SectionResult result;
  for (const ExecutorCase& test : cases) {
    const std::string wrong =
        together.RunCase(test, calls, options.threads, options.timeout_seconds);
    if (!wrong.empty()) return Fail(wrong);
    result.checks += calls;
  }
  return result;
}

}  // namespace

SectionResult CheckSmall(const SectionOptions& options) {
  return RunTogether(options, 2, EveryRowInEveryProtocol(2), SmallSlots(), 1);
}

SectionResult CheckRows(const SectionOptions& options) {
  SectionResult sum;
  for (int ranks = 2; ranks <= options.most_ranks; ranks += ranks < 5 ? 1 : 3) {
    Add(sum, RunTogether(options, ranks, EveryRowInEveryProtocol(ranks), SmallSlots(), 2));
  }
  return sum;
}

SectionResult CheckTypes(const SectionOptions& options) {
  constexpr int kRanks = 3;
  std::vector<ExecutorCase> cases;
  for (const DataType type : kAllDataTypes) {
    for (const ReduceOp op : kAllReduceOps) {
      for (const char* name : {"ring", "two_shot"}) {
        ExecutorCase test;
        test.row = FindAlgorithm(Collective::kAllReduce, name);
        test.counts = EvenCounts({Collective::kAllReduce, kRanks, 0}, 1031);
        test.type = type;
        test.op = op;
        test.parameters.protocol = cases.size() % 3 == 0 ? Protocol::kLl : Protocol::kSimple;
        cases.push_back(test);
      }
    }
  }
  return RunTogether(options, kRanks, cases, SmallSlots(), 1);
}

// Counters and packet flags pass 2^31 and 2^32.
SectionResult CheckCounters(const SectionOptions& options) {
  SectionResult sum;
  for (const int bits : {31, 32}) {
    Add(sum, RunTogether(options, 2, EveryRowInEveryProtocol(2),
                         SmallSlots((std::uint64_t{1} << bits) - 20), 2));
  }
  return sum;
}

// Connections as large as they are by default, vectors of some megabytes.
SectionResult CheckLong(const SectionOptions& options) {
  constexpr int kRanks = 4;
  std::vector<ExecutorCase> cases;
  for (const char* name : {"ring", "double_binary_tree", "halving_doubling", "two_shot"}) {
    ExecutorCase test;
    test.row = FindAlgorithm(Collective::kAllReduce, name);
    test.parameters.lanes = 2;
    test.counts = EvenCounts({Collective::kAllReduce, kRanks, 0}, (std::size_t{1} << 20) + 5);
    cases.push_back(test);
  }
  DomainOptions domain;
  domain.lanes = 8;
  return RunTogether(options, kRanks, cases, domain, 1);
}

// A launch captured into a graph and replayed, without the host in between: counters run on.
SectionResult CheckGraph(const SectionOptions& options) {
  constexpr int kRanks = 2;
  constexpr int kCalls = 4;
  constexpr int kReplays = 1000;
  const auto device = options.open();
  SectionResult result;
  for (const char* name : {"ring", "one_shot", "recursive_doubling"}) {
    ExecutorCase test;
    test.row = FindAlgorithm(Collective::kAllReduce, name);
    test.counts = EvenCounts({Collective::kAllReduce, kRanks, 0}, 515);
    if (result.checks == 1) test.parameters.protocol = Protocol::kLl;
    BlockRanks ranks(*device, kRanks, WithRoomFor({test}, SmallSlots()));
    const PlannedCase planned(test, ranks.limits());
    auto together = ranks.Prepare(planned, options.threads, options.timeout_seconds);
    std::vector<std::vector<std::byte>> arenas;
    for (int rank = 0; rank < kRanks; ++rank) {
      arenas.push_back(planned.Before(rank, 1));
      device->Write(ranks.arena(rank), arenas.back());
    }
    const std::vector<DeviceLaunch*> calls(kCalls, together.launch.get());
    TimeLaunch(*device, *device->MakeGraph(calls), kReplays);
    for (int rank = 0; rank < kRanks; ++rank) device->Read(arenas[rank], ranks.arena(rank));
    std::string wrong = planned.Compare(1, arenas);
    if (wrong.empty()) wrong = BlockRanks::Run(together);  // and once more from the host
    if (!wrong.empty()) return Fail(wrong);
    ++result.checks;
  }
  return result;
}

// A rank that never comes: the others' blocks end at the deadline and say where they were.
SectionResult CheckLostPeer(const SectionOptions& options) {
  constexpr double kShort = 0.2;
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "ring");
  test.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 1031);
  const auto device = options.open();
  BlockRanks ranks(*device, 2, WithRoomFor({test}, SmallSlots()));
  const PlannedCase planned(test, ranks.limits());
  auto together = ranks.Prepare(planned, options.threads, kShort);
  const auto alone = device->PrepareLaunch({&together.programs[0]->call(), 1}, test.type, test.op,
                                           options.threads);
  alone->Enqueue();
  WaitForQueue(*together.end);
  const std::string complaint = together.programs[0]->Complaint();
  return complaint.empty() ? Fail("a rank alone ended without complaint") : Pass(1, complaint);
}

}  // namespace hockney::testing
