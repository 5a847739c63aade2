// Run by mpirun; the argument is the number of ranks, 3 or 4. Shows that an algorithm which MPI is
// told to use is the one that runs: on 3 ranks by an algorithm that refuses them, on 4 by the order
// in which floating-point numbers are added. No test framework, as in mpi_baseline_test.
#include "collectives/baselines/mpi/mpi_selection.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/baselines/mpi/mpi_baseline.h"
#include "topology/check.h"

namespace hockney {
namespace {

void Expect(bool holds, const std::string& what, int line = __builtin_LINE()) {
  if (!holds) throw std::logic_error(fmt::format("line {}: {}", line, what));
}

// One call of a collective on doubles.
class Doubles {
 public:
  Doubles(Collective collective, const Session& session, std::uint64_t count)
      : input_(count), output_(count * session.ranks()) {
    call_.shape = {collective, session.ranks(), 0};
    call_.counts = EvenCounts(call_.shape, collective == Collective::kBarrier ? 0 : count);
    call_.type = DataType::kFloat64;
    if (collective == Collective::kBarrier) return;
    call_.input = reinterpret_cast<std::byte*>(input_.data());
    call_.output = reinterpret_cast<std::byte*>(output_.data());
  }
  const Call& call() const { return call_; }
  std::vector<double>& input() { return input_; }
  const std::vector<double>& output() const { return output_; }

 private:
  std::vector<double> input_;
  std::vector<double> output_;
  Call call_;
};

bool Fails(Prepared& prepared) {
  try {
    prepared.Run();
  } catch (const BackendError&) {
    return true;
  }
  return false;
}

// An algorithm that refuses 3 ranks before it sends anything, and one that takes them.
void TestRefusal(MpiBaseline& mpi, const Session& session, Collective collective,
                 const std::string& refuses, const std::string& takes) {
  Doubles doubles(collective, session, 4);
  const auto by_default = mpi.Prepare(doubles.call());
  const auto forced = mpi.Prepare(doubles.call(), refuses);
  const auto other = mpi.Prepare(doubles.call(), takes);
  const auto again = mpi.Prepare(doubles.call());
  for (int i = 0; i < 2; ++i) {
    mpi.Select(collective, refuses);
    Expect(Fails(*forced), refuses + " ran on 3 ranks");
    mpi.Select(collective, "");
    Expect(!Fails(*by_default) && !Fails(*again), "the default was lost");
    mpi.Select(collective, takes);
    Expect(!Fails(*other), takes + " was lost");
    mpi.Select(collective, "");
  }
}

void TestRefusals(MpiBaseline& mpi, const Session& session) {
  if (FamilyOf(mpi.Library()) == MpiFamily::kMpich) {
    return TestRefusal(mpi, session, Collective::kAllGather, "recursive_doubling", "brucks");
  }
  for (const Collective collective : {Collective::kAllGather, Collective::kBarrier}) {
    TestRefusal(mpi, session, collective, "two_proc", "recursive_doubling");
    const Doubles doubles(collective, session, 4);
    Expect(!mpi.WhyNotForced(doubles.call(), "two_proc").empty(), "two_proc was not refused");
  }
}

// What each rank adds: sums differ in their last bits by the order.
double Term(int rank, int element) {
  return 1.0 / (3 + rank * 7 + element * 11) + (rank % 2 == 0 ? 0.1 : -0.3) * element;
}

void TestOrder(MpiBaseline& mpi, const Session& session) {
  constexpr int kCount = 256;
  Doubles doubles(Collective::kAllReduce, session, kCount);
  for (int i = 0; i < kCount; ++i) doubles.input()[i] = Term(session.rank(), i);
  const auto run = [&](const std::string& name) {
    mpi.Prepare(doubles.call(), name)->Run();
    return std::vector<double>(doubles.output().begin(), doubles.output().begin() + kCount);
  };
  std::vector<double> by_pairs(kCount);  // recursive doubling
  std::vector<double> in_line(kCount);   // the root adds the last rank's, then the one before it
  std::vector<double> around(kCount);    // each quarter starts behind the rank that ends it
  for (int i = 0; i < kCount; ++i) {
    const auto t = [i](int rank) { return Term(rank % 4, i); };
    by_pairs[i] = (t(0) + t(1)) + (t(2) + t(3));
    in_line[i] = ((t(3) + t(2)) + t(1)) + t(0);
    const int first = i / (kCount / 4);
    around[i] = ((t(first) + t(first + 1)) + t(first + 2)) + t(first + 3);
  }
  Expect(by_pairs != in_line && in_line != around && around != by_pairs, "orders do not show");
  Expect(run("recursive_doubling") == by_pairs, "not recursive doubling");
  Expect(run("basic_linear") == in_line, "not in line");
  Expect(run("ring") == around, "not around the ring");
  Expect(run("recursive_doubling") == by_pairs, "not recursive doubling again");
}

void TestNames(const MpiBaseline& mpi) {
  const MpiFamily family = FamilyOf(mpi.Library());
  for (const Collective collective : kAllCollectives) {
    const std::vector<std::string> names = mpi.Algorithms(collective);
    Expect(names.empty() == (collective == Collective::kSendRecv), std::string(Name(collective)));
    for (const std::string& name : names) {
      Expect(family == MpiFamily::kMpich || OpenMpiId(collective, name).has_value(),
             fmt::format("{} of {} has no number", name, Name(collective)));
    }
  }
}

int Main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::stoi(argv[1]) : 0;
  MpiBaseline::AllowAlgorithms();
  Session session = Session::StartMpi(&argc, &argv, 60);
  try {
    Expect(session.ranks() == ranks, fmt::format("{} ranks", session.ranks()));
    MpiBaseline mpi(session, true);
    const MpiFamily family = FamilyOf(mpi.Library());
    if (family == MpiFamily::kOther) return 77;
    TestNames(mpi);
    if (ranks == 3) TestRefusals(mpi, session);
    if (ranks == 4 && family == MpiFamily::kOpenMpi) TestOrder(mpi, session);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", session.rank(), error.what());
    _exit(1);
  }
  return 0;
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) { return hockney::Main(argc, argv); }
