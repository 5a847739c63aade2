// Run() must not allocate: this program counts what its threads allocate while they are told to.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "collectives/executors/host/host_executor.h"

namespace {

std::atomic<int>& Allocations() {
  static std::atomic<int> count{0};
  return count;
}
thread_local bool counting = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

void* operator new(std::size_t bytes) {
  if (counting) ++Allocations();
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// g++ takes the free below for a mismatch once it has inlined operator new.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#pragma GCC diagnostic pop

namespace hockney {
namespace {

// Runs every row once with allocations counted.
void RunAllRows(Session& session, HostDomain& domain, HostExecutor& executor) {
  for (const Algorithm& row : AllAlgorithms()) {
    Call call;
    call.shape = {row.collective, session.ranks(), 0};
    call.counts = EvenCounts(call.shape, 3000);
    const Layout layout(call.counts, call.type, Cut{});
    call.input = domain.arena().data();
    call.output = domain.arena().data() + domain.arena().size() / 2;
    const CallFlow flow = ChooseFlow(row, call.counts, call.type, {}, domain.options().limits);
    const auto prepared = executor.Prepare(call, row, flow, StorePolicy::kNonTemporal);
    counting = true;
    prepared->Run();
    counting = false;
  }
}

TEST(HostExecutorAllocationTest, RunAllocatesNothing) {
  RunThreadRanks(3, 60, [](Session& session) {
    HostDomain::Options options;
    options.arena_bytes = std::size_t{1} << 20;
    options.lanes = 4;
    options.limits.slot_bytes = 4096;
    HostDomain domain(session, options);
    HostExecutor executor(session, domain, {.oversubscribed = true, .timeout_seconds = 60});
    RunAllRows(session, domain, executor);
  });
  EXPECT_EQ(Allocations().load(), 0);
  counting = true;
  ::operator delete(::operator new(1));
  counting = false;
  EXPECT_EQ(Allocations().load(), 1) << "the counter itself does not count";
}

}  // namespace
}  // namespace hockney
