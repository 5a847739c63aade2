#include "bench/correctness.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "bench/data_check.h"
#include "collectives/kernels/kernels.h"
#include "tests/bench/thread_arena.h"

namespace hockney {
namespace {

using testing::ThreadArena;

// An all-reduce on shared buffers that can be told to go wrong: it sums what `input_of` shows it of
// each rank.
class PlainAllReduce : public Prepared {
 public:
  using InputOf = std::function<std::span<const std::byte>(int rank)>;
  PlainAllReduce(Session& session, const Call& call, std::size_t bytes, InputOf input_of)
      : session_(session), call_(call), bytes_(bytes), input_of_(std::move(input_of)) {}
  // Done by this rank when the reduction is over.
  void AtTheEnd(std::function<void()> damage) { damage_ = std::move(damage); }

  void Run() override {
    session_.Barrier();
    std::vector<const std::byte*> sources;
    for (int r = 0; r < session_.ranks(); ++r) {
      const auto input = input_of_(r);
      if (!input.empty()) sources.push_back(input.data());
    }
    KernelArgs args;
    args.sources = sources.data();
    args.source_count = sources.size();
    args.destinations = &call_.output;
    args.destination_count = 1;
    args.count = bytes_ / ElementBytes(call_.type);
    args.ranks = session_.ranks();
    ReferenceKernel(call_.type, call_.op, args);
    session_.Barrier();
    if (damage_) damage_();
  }

 private:
  Session& session_;
  Call call_;
  std::size_t bytes_;
  InputOf input_of_;
  std::function<void()> damage_;
};

// Checks an all-reduce of float32 over 4 ranks whose inputs pass through `spoil` on their way;
// returns the result.
CheckResult CheckSpoiled(
    const std::function<std::vector<std::byte>(int rank, std::span<const std::byte> input)>& spoil,
    const std::function<void(const BufferSet& set)>& damage = {}) {
  CheckResult result;
  RunThreadRanks(4, 30, [&](Session& session) {
    const Shape shape{Collective::kAllReduce, 4, 0};
    Call call;
    call.shape = shape;
    call.counts = EvenCounts(shape, 4096);
    const Layout layout(call.counts, call.type, Cut{});
    ThreadArena arena(session, BufferSet::Bytes(layout, 0, false));
    const BufferSet set(layout, session.rank(), false, arena.Room(session.rank()));
    call.input = set.input().data();
    call.output = set.output().data();
    std::vector<std::vector<std::byte>> shown(4);
    PlainAllReduce collective(session, call, set.input().size(), [&](int rank) {
      const BufferSet theirs(layout, rank, false, arena.Room(rank));
      shown[rank] = spoil(rank, theirs.input());
      return std::span<const std::byte>(shown[rank]);
    });
    if (session.rank() == 2 && damage) collective.AtTheEnd([&] { damage(set); });
    const CheckResult mine = CheckData(session, collective, call, set, 77);
    if (session.rank() == 0) result = mine;
  });
  return result;
}

std::vector<std::byte> Intact(std::span<const std::byte> input) {
  return {input.begin(), input.end()};
}

TEST(CheckDataTest, ARightResultHasNoErrors) {
  EXPECT_EQ(CheckSpoiled([](int, auto input) { return Intact(input); }).errors, 0U);
}

TEST(CheckDataTest, ADroppedRankIsCaught) {
  const CheckResult result = CheckSpoiled(
      [](int rank, auto input) { return rank == 2 ? std::vector<std::byte>() : Intact(input); });
  EXPECT_GT(result.errors, 0U);
  EXPECT_NE(result.reason.find("wrong elements"), std::string::npos) << result.reason;
}

TEST(CheckDataTest, ADoubledOrNegatedRankIsCaught) {
  for (const float factor : {2.0F, -1.0F}) {
    const CheckResult result = CheckSpoiled([&](int rank, auto input) {
      std::vector<std::byte> bytes = Intact(input);
      for (std::size_t i = 0; rank == 1 && i < bytes.size(); i += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        value *= factor;
        std::memcpy(bytes.data() + i, &value, sizeof value);
      }
      return bytes;
    });
    EXPECT_GT(result.errors, 0U) << factor;
  }
}

TEST(CheckDataTest, StaleDataOfAnEarlierCheckIsCaught) {
  const DataSpec earlier{.ranks = 4, .seed = 76};
  const CheckResult result = CheckSpoiled([&](int rank, auto input) {
    std::vector<std::byte> bytes = Intact(input);
    if (rank == 3) FillInput(earlier, rank, 0, bytes);
    return bytes;
  });
  EXPECT_GT(result.errors, 0U);
}

TEST(CheckDataTest, AnInputThatWasWrittenToIsCaught) {
  const CheckResult result = CheckSpoiled([](int, auto input) { return Intact(input); },
                                          [](const BufferSet& set) {
                                            // The reduction overwrites the output, so spoil an
                                            // input after it was shown: the input check sees it.
                                            set.input().back() ^= std::byte{1};
                                          });
  EXPECT_EQ(result.errors, 1U);
  EXPECT_NE(result.reason.find("rank 2: the input was written to"), std::string::npos)
      << result.reason;
}

TEST(CheckDataTest, AByteBeyondTheOutputIsCaught) {
  const CheckResult result = CheckSpoiled(
      [](int, auto input) { return Intact(input); },
      [](const BufferSet& set) { *(set.output().data() + set.output().size()) ^= std::byte{1}; });
  EXPECT_EQ(result.errors, 1U);
  EXPECT_NE(result.reason.find("outside"), std::string::npos) << result.reason;
}

}  // namespace
}  // namespace hockney
