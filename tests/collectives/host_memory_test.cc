#include "collectives/memory/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "topology/check.h"
#include "topology/session.h"

namespace hockney {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kTimeout = 30;

TEST(HostMemoryTest, ThreadsSeeOneObject) {
  std::array<std::byte*, 3> addresses{};
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    const auto memory = HostMemory::Create(session, 10000);
    addresses[session.rank()] = memory->Segment(session.rank()).data();
    session.Barrier();
    for (int r = 0; r < 3; ++r) EXPECT_EQ(memory->Segment(r).data(), addresses[r]);
    session.Barrier();
  });
}

TEST(HostMemoryTest, SegmentsAreZeroedAlignedAndAsLongAsAsked) {
  constexpr std::array<std::size_t, 4> kBytes{0, 1, 4097, (std::size_t{2} << 20) + 1};
  RunThreadRanks(4, kTimeout, [&](Session& session) {
    const auto memory = HostMemory::Create(session, kBytes[session.rank()]);
    for (int r = 0; r < 4; ++r) {
      const auto segment = memory->Segment(r);
      EXPECT_EQ(segment.size(), kBytes[r]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % (std::size_t{2} << 20), 0U);
      EXPECT_EQ(std::count(segment.begin(), segment.end(), std::byte{0}), std::ssize(segment));
      EXPECT_GE(memory->page_kib(r), 4);
    }
    EXPECT_THROW(static_cast<void>(memory->Segment(4)), std::out_of_range);
  });
}

TEST(HostMemoryTest, PeersReadAndWrite) {
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    const int rank = session.rank();
    const auto memory = HostMemory::Create(session, 30000);
    const auto mine = memory->Segment(rank);
    std::fill(mine.begin(), mine.end(), std::byte(rank + 1));
    session.Barrier();
    for (int r = 0; r < 3; ++r) EXPECT_THAT(memory->Segment(r), testing::Each(std::byte(r + 1)));
    session.Barrier();
    memory->Segment((rank + 1) % 3)[7] = std::byte(100 + rank);
    session.Barrier();
    EXPECT_EQ(mine[7], std::byte(100 + (rank + 2) % 3));
  });
}

TEST(HostMemoryTest, SegmentOutlivesItsRank) {
  RunThreadRanks(2, kTimeout, [&](Session& session) {
    auto memory = HostMemory::Create(session, 4096);
    if (session.rank() == 0) memory.reset();
    session.Barrier();
    if (session.rank() == 1) {
      memory->Segment(0)[0] = std::byte{1};
    }
  });
}

TEST(HostMemoryTest, TooMuchMemoryIsRefusedOnEveryRank) {
  for (const std::size_t bytes : {std::size_t{1} << 50, std::numeric_limits<std::size_t>::max()}) {
    RunThreadRanks(3, kTimeout, [&](Session& session) {
      try {
        HostMemory::Create(session, session.rank() == 1 ? bytes : 1);
        FAIL() << "no exception";
      } catch (const EnvironmentError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("needed by 3 ranks"), HasSubstr("available (")));
      }
      EXPECT_EQ(HostMemory::Create(session, 8)->Segment(0).size(), 8U);  // nothing is out of step
    });
  }
}

}  // namespace
}  // namespace hockney
