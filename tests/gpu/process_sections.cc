#include <sys/mman.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/baselines/nccl/nccl_baseline.h"
#include "tests/gpu/device_ground.h"
#include "tests/gpu/section_parts.h"
#include "topology/check.h"
#include "topology/concat.h"
#include "topology/process_ranks.h"

namespace hockney::testing {
namespace {

// One line from a process to the one that forked it.
class SharedLine {
 public:
  SharedLine()
      : text_(static_cast<char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (text_ == MAP_FAILED) throw std::runtime_error("no memory to share");
  }
  SharedLine(const SharedLine&) = delete;
  SharedLine& operator=(const SharedLine&) = delete;
  ~SharedLine() { munmap(text_, kBytes); }
  void Say(const std::string& text) { text.copy(text_, kBytes - 1); }
  std::string text() const { return text_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  char* text_;
};

// Runs `body`, which returns what is wrong, as processes, one a rank. A rank that throws
// EnvironmentError makes it a skip.
SectionResult RunAsProcesses(const SectionOptions& options, int ranks, int checks,
                             const std::function<std::string(Session&)>& body) {
  constexpr int kSkips = 3;
  SharedLine line;
  ProcessOutcome outcome;
  auto session = RunProcessRanks(ranks, options.timeout_seconds, &outcome);
  if (!session) {
    const std::string text = line.text().empty() ? outcome.cause : line.text();
    if (outcome.exit_code == 0) return Pass(checks);
    return outcome.exit_code == kSkips ? Skip(text) : Fail(text);
  }
  int code = 0;
  std::string text;
  try {
    text = body(*session);
    session->Barrier();
    code = text.empty() ? 0 : 1;
  } catch (const EnvironmentError& error) {
    text = error.what();
    code = kSkips;
  } catch (const std::exception& error) {
    text = Concat("rank ", session->rank(), ": ", error.what());
    code = 1;
  }
  if (!text.empty()) line.Say(text);
  std::_Exit(code);
}

// Ranks as processes on one device, whose memory they open. Where blocks of several processes do
// not run at the same time, the device gives each its turn.
SectionResult Processes(const SectionOptions& options) {
  SectionResult sum;
  for (const int ranks : {2, 3}) {
    // A device gives processes turns of a millisecond or so, which each message waits for.
    std::vector<ExecutorCase> cases;
    const auto all = EveryRowInEveryProtocol(ranks);
    for (std::size_t i = 0; i < all.size(); i += 4) cases.push_back(all[i]);
    const auto body = [&](Session& session) -> std::string {
      const Ground ground = MakeDeviceGround(
          session, options.open(), WithRoomFor(cases, SmallSlots()), options.kind,
          {.threads = options.threads, .timeout_seconds = options.timeout_seconds});
      std::string first;
      for (const ExecutorCase& test : cases) {
        const std::string wrong = RunCase(session, ground, test, 1);
        if (first.empty()) first = wrong;
      }
      return first;
    };
    Add(sum, RunAsProcesses(options, ranks, static_cast<int>(cases.size()), body));
  }
  return sum;
}

}  // namespace

SectionResult CheckProcessesByIpc(const SectionOptions& options) { return Processes(options); }

SectionResult CheckProcessesByFile(const SectionOptions& options) {
  SectionOptions by_file = options;
  by_file.kind = PeerMemoryKind::kFileDescriptor;
  return Processes(by_file);
}

// NCCL among processes on one device, which it allows where they claim to be different hosts. Over
// sockets: that it is right is all that can be seen.
SectionResult CheckNccl(const SectionOptions& options) {
  const NcclLibrary library = NcclLibrary::Load(options.nccl);
  constexpr int kRanks = 2;
  std::vector<ExecutorCase> cases;
  for (const Collective collective : kAllCollectives) {
    ExecutorCase test;
    test.row = FindAlgorithm(collective, "naive_root");
    test.counts = EvenCounts({collective, kRanks, 0}, 1031);
    test.type = DataType::kInt32;  // the same in any order
    if (test.row != nullptr && collective != Collective::kBarrier) cases.push_back(test);
  }
  const auto body = [&](Session& session) -> std::string {
    setenv("NCCL_HOSTID", Concat("hockney-", session.rank()).c_str(), 1);
    for (const char* off : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) setenv(off, "1", 1);
    setenv("NCCL_NET", "Socket", 1);
    const auto device = options.open();
    NcclBaseline nccl(session, *device, library, {});
    const DomainOptions domain = WithRoomFor(cases, {});
    const auto arena = device->Allocate(domain.arena_bytes, PeerMemoryKind::kCudaIpc);
    std::string first;
    for (const ExecutorCase& test : cases) {
      const PlannedCase planned(test, domain.limits);
      const auto call = nccl.Prepare(planned.MakeCall(session.rank(), arena->data()));
      std::vector<std::byte> bytes = planned.Before(session.rank(), 1);
      device->Write(arena->data(), bytes);
      call->Run();
      device->Read(bytes, arena->data());
      const std::string wrong = planned.Compare(1, session.AllGather(bytes));
      if (first.empty() && !wrong.empty()) first = "NCCL: " + wrong;
    }
    return first;
  };
  SectionResult result = RunAsProcesses(options, kRanks, static_cast<int>(cases.size()), body);
  if (result.text.empty()) result.text = "NCCL " + library.version() + " from " + library.file();
  return result;
}

}  // namespace hockney::testing
