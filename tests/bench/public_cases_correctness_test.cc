// Reports of wrong results in other libraries (B06 to B17: numbers of the project's collection of
// public cases), as far as the program and its data check have a part in them. tests/collectives
// has the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "bench/correctness.h"
#include "tests/bench/run_program.h"
#include "tests/bench/thread_arena.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::RunUnderMpi;
using testing::ScratchFolder;

// A broadcast of one rank that writes one element wrong.
class OneWrongElement : public Prepared {
 public:
  OneWrongElement(const BufferSet& set, std::size_t byte) : set_(set), byte_(byte) {}
  void Run() override {
    std::copy(set_.input().begin(), set_.input().end(), set_.output().begin());
    set_.output()[byte_] ^= std::byte{1};
  }

 private:
  const BufferSet& set_;
  std::size_t byte_;
};

// B06: the check reaches every element: the last one, and those where it starts a new block.
TEST(PublicCaseTest, B06TheCheckFindsOneWrongElementWhereverItIs) {
  const Shape shape{Collective::kBroadcast, 1, 0};
  for (const DataType type : {DataType::kInt8, DataType::kFloat32, DataType::kFloat64}) {
    const std::uint64_t block = 256 * 1024 / ElementBytes(type);
    const std::uint64_t count = 3 * block + 1;
    for (const std::uint64_t wrong :
         {std::uint64_t{0}, block - 1, block, 2 * block + 7, count - 2, count - 1}) {
      RunThreadRanks(1, 30, [&](Session& session) {
        Call call;
        call.shape = shape;
        call.counts = EvenCounts(shape, count);
        call.type = type;
        const Layout layout(call.counts, type, Cut{});
        const testing::ThreadArena arena(session, BufferSet::Bytes(layout, 0, false));
        const BufferSet set(layout, 0, false, arena.Room(0));
        call.input = set.input().data();
        call.output = set.output().data();
        OneWrongElement collective(set, wrong * ElementBytes(type));
        const CheckResult result = CheckData(session, collective, call, set, 6);
        EXPECT_EQ(result.errors, 1U);
        EXPECT_EQ(result.reason, "rank 0: 1 wrong elements, the first at " + std::to_string(wrong));
      });
    }
  }
}

// Rows of a sweep that must end well, every row checked or skipped with a reason.
std::vector<SweepRow> RightRows(const ScratchFolder& folder, const Outcome& run,
                                const std::string& name) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::vector<SweepRow> rows = ReadSweep(folder.Path(name));
  for (const SweepRow& row : rows) {
    if (row.status == Status::kSkipped) {
      EXPECT_NE(row.reason, "");
      continue;
    }
    EXPECT_EQ(row.status, Status::kOk) << row.algorithm << ": " << row.reason;
    if (row.collective == Collective::kBarrier) continue;
    EXPECT_EQ(row.errors, 0U) << row.algorithm;
  }
  return rows;
}

// B09 under a launcher, MPI's own one-rank shortcuts beside ours.
TEST(PublicCaseTest, B09OneLaunchedRankIsRightToTheLastElement) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const ScratchFolder folder;
  const Outcome run = RunUnderMpi(
      1,
      "sweep all_reduce --algorithm ring -o sum,avg -d bf16,float32 --place both -n 1 -w 0 --count "
      "1000003 --out " +
          folder.Path("a"));
  std::size_t measured = 0;
  for (const SweepRow& row : RightRows(folder, run, "a")) measured += row.samples;
  EXPECT_EQ(measured, 10U);  // 8 of ring; MPI has neither bf16 nor avg
}

TEST(PublicCaseTest, B09OneRankIsRightForEveryOperatorAndCount) {
  const ScratchFolder folder;
  for (const char* count : {"1", "31", "32", "33"}) {
    const Outcome run = RunProgram(
        std::string("sweep all_reduce reduce_scatter reduce --local 1 -o all -d bf16 --place both "
                    "-n 1 -w 0 --count ") +
        count + " --out " + folder.Path(count));
    for (const SweepRow& row : RightRows(folder, run, count)) {
      EXPECT_FALSE(row.busbw_GBps.has_value());
    }
  }
}

// B10: blocks are equal, so 73 elements over 4 ranks are 4 times 18, and the size says so: what is
// not moved is not counted.
TEST(PublicCaseTest, B10EqualBlocksCountOnlyWhatTheyMove) {
  const ScratchFolder folder;
  const std::string words = "sweep reduce_scatter --local 4 -b 292 -e 292 ";
  const Outcome plan = RunProgram(words + "--dry-run");
  EXPECT_THAT(plan.out, ::testing::ContainsRegex("reduce_scatter +288 +18 +out"));
  const Outcome run = RunProgram(words + "-n 1 -w 0 --out " + folder.Path("a"));
  for (const SweepRow& row : RightRows(folder, run, "a")) {
    EXPECT_EQ(row.size_bytes, 288U);
    EXPECT_EQ(row.count, 18U);
  }
}

// B12: no elements are no work and no bandwidth, on every rank.
TEST(PublicCaseTest, B12NoElementsAreNoBandwidth) {
  const ScratchFolder folder;
  const Outcome run =
      RunProgram("sweep all --local 3 -b 0 -e 0 --place both -n 2 -w 0 --out " + folder.Path("a"));
  std::set<std::string> seen;
  for (const SweepRow& row : RightRows(folder, run, "a")) {
    EXPECT_FALSE(row.algbw_GBps.has_value());
    EXPECT_FALSE(row.busbw_GBps.has_value());
    if (row.status == Status::kOk) seen.insert(std::string(Name(row.collective)) + row.algorithm);
  }
  EXPECT_EQ(seen.size(), 44U);
}

// No algorithm needs a least count, so none stands in for another.
TEST(PublicCaseTest, B12FewerElementsThanRanksRunWhatWasAskedFor) {
  const ScratchFolder folder;
  const Outcome run =
      RunProgram("sweep all --local 5 --count 1 -n 1 -w 0 --out " + folder.Path("a"));
  for (const SweepRow& row : RightRows(folder, run, "a")) {
    EXPECT_EQ(row.algorithm, row.requested_algorithm);
  }
}

TEST(PublicCaseTest, B12MpiDoesNothingForNoElements) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const ScratchFolder folder;
  const Outcome run = RunUnderMpi(
      3, "sweep all -b 0 -e 0 -n 1 -w 0 --implementation mpi --out " + folder.Path("a"));
  std::size_t measured = 0;
  for (const SweepRow& row : RightRows(folder, run, "a")) measured += row.samples;
  EXPECT_EQ(measured, std::size(kAllCollectives));
}

// B15: MPI's in-place reduce-scatter is another one than NCCL's, so it is no row to compare with.
TEST(PublicCaseTest, B15InPlaceReduceScatterOfMpiIsSkippedWithTheReason) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const ScratchFolder folder;
  const Outcome run = RunUnderMpi(
      3, "sweep reduce_scatter --place in --count 7 -n 1 -w 0 --out " + folder.Path("a"));
  bool found = false;
  for (const SweepRow& row : RightRows(folder, run, "a")) {
    if (row.implementation != "mpi") continue;
    found = true;
    EXPECT_EQ(row.status, Status::kSkipped);
    EXPECT_THAT(row.reason, HasSubstr("leaves the result elsewhere"));
  }
  EXPECT_TRUE(found);
}

// B15, B17: every root, in place and apart; what other ranks hold after a reduce is not judged.
TEST(PublicCaseTest, B17RootedCollectivesAreRightForEveryRoot) {
  const ScratchFolder folder;
  const Outcome run = RunProgram(
      "sweep broadcast reduce gather scatter --local 3 -r all --place both --count 100 -n 1 -w 0 "
      "--out " +
      folder.Path("a"));
  std::set<std::int64_t> roots;
  for (const SweepRow& row : RightRows(folder, run, "a")) {
    if (row.root) roots.insert(*row.root);
  }
  EXPECT_EQ(roots, (std::set<std::int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace hockney
