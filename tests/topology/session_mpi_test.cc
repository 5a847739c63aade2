// Run by mpirun on 3 processes. No test framework: an assertion has to end all ranks, which the
// launcher does when one of them returns non-zero.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "collectives/memory/host_memory.h"
#include "topology/check.h"
#include "topology/launcher.h"
#include "topology/pinning.h"
#include "topology/session.h"

namespace hockney {
namespace {

constexpr int kRanks = 3;

// `line` is the caller's; std::source_location would say it too, but clang 14 lacks it.
void Expect(bool holds, int line = __builtin_LINE()) {
  if (!holds) throw std::logic_error(fmt::format("line {}: not so", line));
}

template <class Exception, class Call>
requires std::is_invocable_v<Call>
void ExpectThrow(const Call& call, std::string_view part, int line = __builtin_LINE()) {
  try {
    call();
  } catch (const Exception& error) {
    if (std::string_view(error.what()).find(part) != std::string_view::npos) return;
    throw std::logic_error(fmt::format("line {}: text is: {}", line, error.what()));
  }
  throw std::logic_error(fmt::format("line {}: no exception", line));
}

void TestCalls(Session& session) {
  Expect(session.ranks() == kRanks);
  Expect(session.kind() == RankKind::kProcesses);
  Expect(session.mpi_communicator() != nullptr);
  Expect(LauncherWorldSize() == kRanks);
  session.Barrier();

  for (int root = 0; root < kRanks; ++root) {
    std::array<std::byte, 5> bytes{};
    if (session.rank() == root) bytes.fill(std::byte(root + 1));
    session.Broadcast(bytes, root);
    Expect(std::count(bytes.begin(), bytes.end(), std::byte(root + 1)) == 5);
  }
  ExpectThrow<std::invalid_argument>([&] { session.Broadcast({}, kRanks); }, "root 3 of 3");
  ExpectThrow<std::logic_error>([&] { session.AllGatherShared(nullptr); }, "processes");

  const std::vector<std::byte> mine(2 * session.rank(), std::byte(session.rank()));
  const auto all = session.AllGather(mine);
  for (int r = 0; r < kRanks; ++r) Expect(all[r] == std::vector<std::byte>(2 * r, std::byte(r)));
}

void TestSizeLimit(Session& session) {
  // Never touched: the lengths alone must make every rank refuse.
  std::byte byte{};
  const std::span<std::byte> huge(&byte, std::size_t{3} << 30);
  ExpectThrow<std::invalid_argument>([&] { session.Broadcast(huge, 0); }, "3221225472 bytes");
  const std::span<std::byte> mine = session.rank() == 1 ? huge : std::span<std::byte>();
  ExpectThrow<std::invalid_argument>([&] { session.AllGather(mine); }, "of rank 1");
}

void TestSplit(Session& session) {
  const int old_rank = session.rank();
  Session part = session.Split(old_rank % 2, -old_rank);  // 2 0 and 1
  Expect(part.ranks() == (old_rank % 2 == 0 ? 2 : 1));
  Expect(part.rank() == (old_rank == 0 ? 1 : 0));
  part.Barrier();
  Session shared = session.SplitSharedMemory();
  Expect(shared.ranks() == kRanks && shared.rank() == old_rank);
  ExpectThrow<std::invalid_argument>([&] { session.Split(-1, 0); }, "color -1");
  Oversubscribed(shared);
}

void TestMemory(Session& session) {
  const int rank = session.rank();
  constexpr std::array<std::size_t, kRanks> kBytes{8, 5000, (std::size_t{4} << 20) + 9};
  const auto memory = HostMemory::Create(session, kBytes[rank]);
  const auto mine = memory->Segment(rank);
  std::fill(mine.begin(), mine.end(), std::byte(rank + 1));
  session.Barrier();
  for (int r = 0; r < kRanks; ++r) {
    const auto segment = memory->Segment(r);
    Expect(segment.size() == kBytes[r]);
    Expect(std::count(segment.begin(), segment.end(), std::byte(r + 1)) == std::ssize(segment));
    Expect(memory->page_kib(r) >= 4);
  }
  session.Barrier();
  memory->Segment((rank + 1) % kRanks)[7] = std::byte(100 + rank);
  session.Barrier();
  Expect(mine[7] == std::byte(100 + (rank + kRanks - 1) % kRanks));
}

void TestMemoryShortage(Session& session) {
  const std::size_t huge = std::size_t{1} << 50;
  ExpectThrow<EnvironmentError>(
      [&] { HostMemory::Create(session, session.rank() == 1 ? huge : 1); }, "needed by 3 ranks");

  // One rank fails where the plan saw no shortage: the others hear of it instead of waiting.
  rlimit before{};
  Expect(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 1000;
  if (session.rank() == 2) Expect(setrlimit(RLIMIT_FSIZE, &low) == 0);
  ExpectThrow<EnvironmentError>([&] { HostMemory::Create(session, 5000); }, "rank 2: 8192 bytes");
  Expect(setrlimit(RLIMIT_FSIZE, &before) == 0);
  session.Barrier();
}

void TestManyExchanges(Session& session) {
  const int first_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(first_free);
  for (int i = 0; i < 50; ++i) HostMemory::Create(session, 4096);
  const int still_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(still_free);
  Expect(first_free == still_free);  // no descriptor stays open
}

// Leaves the session unusable, so that it must not finalize MPI.
void TestDeadline(Session& session) {
  if (session.rank() == 1) return;
  ExpectThrow<TimeoutError>([&] { session.Barrier(); }, "in Barrier for the other 2 ranks");
  ExpectThrow<TimeoutError>([&] { session.Split(0, 0); }, "an earlier call");
}

void RunTests(Session& session, std::string_view chosen) {
  if (chosen == "calls") {
    TestCalls(session);
    TestSizeLimit(session);
    TestSplit(session);
  } else if (chosen == "memory") {
    TestMemory(session);
    TestMemoryShortage(session);
    TestManyExchanges(session);
  } else if (chosen == "deadline") {
    TestDeadline(session);
  } else {
    throw std::invalid_argument(fmt::format("no such test: {}", chosen));
  }
}

int Main(int argc, char** argv) {
  const std::string chosen = argc > 1 ? argv[1] : "";
  const bool finalizes = chosen != "deadline";
  auto session = std::make_unique<Session>(Session::StartMpi(&argc, &argv, finalizes ? 60 : 0.5));
  const int rank = session->rank();
  try {
    RunTests(*session, chosen);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", rank, error.what());
    _exit(1);
  }
  session.reset();  // returns also where it cannot finalize
  if (finalizes) return 0;
  // mpirun calls it an error to end like this, so the text decides, not the exit code.
  fmt::print("rank {} ended by itself\n", rank);
  std::fflush(stdout);
  _exit(0);
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) { return hockney::Main(argc, argv); }
