// Run by mpirun; the argument is the number of ranks. Every result is compared with what the
// collective's definition says, computed here from the counts alone. No test framework: an
// assertion has to end all ranks, which the launcher does when one of them returns non-zero.
#include "collectives/baselines/mpi/mpi_baseline.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/baselines/mpi/mpi_library.h"
#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

constexpr std::array kReducedTypes = {DataType::kInt32, DataType::kFloat32, DataType::kFloat64,
                                      DataType::kInt8, DataType::kUint64};
// MPI computes with none of these, but moves them.
constexpr std::array kMovedOnlyTypes = {DataType::kBfloat16, DataType::kFloat8E5m2};
constexpr int kPoison = 99;

struct Case {
  Counts counts{};
  DataType type = DataType::kInt32;
  bool in_place = false;
  std::byte* ignored = nullptr;  // passed for a buffer that only the root has
};

std::string Describe(const Case& test) {
  return fmt::format("{} of {} root {} {} {} first count {}", Name(test.counts.collective),
                     test.counts.ranks, test.counts.root, Name(test.type),
                     test.in_place ? "in place" : "apart",
                     test.counts.counts.empty() ? 0 : test.counts.counts[0]);
}

void Expect(bool holds, const std::string& what, int line = __builtin_LINE()) {
  if (!holds) throw std::logic_error(fmt::format("line {}: {}", line, what));
}

// Element of a rank's input: small, so that sums are exact in every type, 8 bits included.
int Value(int rank, std::uint64_t element, int call) {
  return static_cast<int>((element * 5 + rank * 7 + call * 3) % 23);
}

// Elements that `from` gives `to`, in the collectives with a block for each rank.
std::uint64_t PairCount(const Counts& c, int from, int to) {
  switch (c.collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return c.counts[to];
    case Collective::kAllGather:
    case Collective::kGather:
      return c.counts[from];
    case Collective::kAllToAll:
      return c.counts[0];
    case Collective::kAllToAllV:
      return c.counts[from * c.ranks + to];
    default:
      throw std::logic_error("no blocks");
  }
}

// First element of the block for `to` in an input that holds one for each rank.
std::uint64_t BlockStart(const Counts& c, int from, int to) {
  std::uint64_t start = 0;
  for (int before = 0; before < to; ++before) start += PairCount(c, from, before);
  return start;
}

std::uint64_t InputElements(const Counts& c, int rank) {
  switch (c.collective) {
    case Collective::kBarrier:
      return 0;
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return c.counts[0];
    case Collective::kBroadcast:
      return rank == c.root ? c.counts[0] : 0;
    case Collective::kScatter:
      return rank == c.root ? BlockStart(c, rank, c.ranks) : 0;
    case Collective::kAllGather:
    case Collective::kGather:
      return c.counts[rank];
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return BlockStart(c, rank, c.ranks);
  }
  throw std::logic_error("unknown collective");
}

std::vector<int> Sum(const Counts& c, std::uint64_t start, std::uint64_t count, int call) {
  std::vector<int> sum(count, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (int from = 0; from < c.ranks; ++from) sum[i] += Value(from, start + i, call);
  }
  return sum;
}

std::vector<int> Moved(int from, std::uint64_t start, std::uint64_t count, int call) {
  std::vector<int> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = Value(from, start + i, call);
  return values;
}

// A block from each rank; where each sends everybody the same, there is only one block to take.
std::vector<int> FromEveryRank(const Counts& c, int rank, bool same_for_all, int call) {
  std::vector<int> all;
  for (int from = 0; from < c.ranks; ++from) {
    const std::uint64_t start = same_for_all ? 0 : BlockStart(c, from, rank);
    const std::vector<int> block = Moved(from, start, PairCount(c, from, rank), call);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

// What the output of `rank` must hold.
std::vector<int> ExpectedOutput(const Counts& c, int rank, int call) {
  switch (c.collective) {
    case Collective::kBarrier:
      return {};
    case Collective::kAllReduce:
      return Sum(c, 0, c.counts[0], call);
    case Collective::kReduce:
      return Sum(c, 0, rank == c.root ? c.counts[0] : 0, call);
    case Collective::kReduceScatter:
      return Sum(c, BlockStart(c, 0, rank), c.counts[rank], call);
    case Collective::kBroadcast:
      return Moved(c.root, 0, c.counts[0], call);
    case Collective::kScatter:
      return Moved(c.root, BlockStart(c, c.root, rank), c.counts[rank], call);
    case Collective::kSendRecv:
      return Moved((rank + c.ranks - 1) % c.ranks, 0, c.counts[0], call);
    case Collective::kAllGather:
      return FromEveryRank(c, rank, true, call);
    case Collective::kGather:
      return rank == c.root ? FromEveryRank(c, rank, true, call) : std::vector<int>();
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return FromEveryRank(c, rank, false, call);
  }
  throw std::logic_error("unknown collective");
}

// A rank's buffers; null where they hold nothing.
template <class T>
struct Buffers {
  Buffers(const Case& test, int rank, std::size_t input_count, std::size_t output_count) {
    const Layout::InPlace place = Layout(test.counts, test.type, Cut{}).FindInPlace(rank);
    const std::size_t offset = place.offset / sizeof(T);
    if (test.in_place && input_count > 0 && output_count > 0) {
      first.resize(std::max(input_count, output_count));
      input = first.data() + (place.input_inside_output ? offset : 0);
      output = first.data() + (place.input_inside_output ? 0 : offset);
      return;
    }
    first.resize(input_count);
    second.resize(output_count);
    if (input_count > 0) input = first.data();
    if (output_count > 0) output = second.data();
  }

  std::vector<T> first;
  std::vector<T> second;
  T* input = nullptr;
  T* output = nullptr;
};

template <class T>
void RunCase(MpiBaseline& mpi, Session& session, const Case& test) {
  const int rank = session.rank();
  const std::size_t inputs = InputElements(test.counts, rank);
  const std::size_t outputs = ExpectedOutput(test.counts, rank, 0).size();
  Buffers<T> buffers(test, rank, inputs, outputs);
  Call call;
  call.shape = {test.counts.collective, test.counts.ranks, test.counts.root};
  call.counts = test.counts;
  call.type = test.type;
  call.input = reinterpret_cast<std::byte*>(buffers.input);
  call.output = reinterpret_cast<std::byte*>(buffers.output);
  if (call.input == nullptr) call.input = test.ignored;
  if (call.output == nullptr) call.output = test.ignored;
  Expect(mpi.WhyNot(call).empty(), Describe(test) + ": " + mpi.WhyNot(call));
  const auto prepared = mpi.Prepare(call);
  for (int n = 0; n < 2; ++n) {
    for (std::size_t i = 0; i < outputs; ++i) buffers.output[i] = T{kPoison};
    for (std::size_t i = 0; i < inputs; ++i) {
      buffers.input[i] = static_cast<T>(Value(rank, i, n));
    }
    prepared->Run();
    const std::vector<int> expected = ExpectedOutput(test.counts, rank, n);
    for (std::size_t i = 0; i < outputs; ++i) {
      Expect(buffers.output[i] == static_cast<T>(expected[i]),
             fmt::format("{}: call {}: element {} of rank {}", Describe(test), n, i, rank));
    }
    for (std::size_t i = 0; i < inputs && !test.in_place; ++i) {
      Expect(buffers.input[i] == static_cast<T>(Value(rank, i, n)),
             fmt::format("{}: input element {} of rank {} changed", Describe(test), i, rank));
    }
  }
}

void RunTyped(MpiBaseline& mpi, Session& session, const Case& test) {
  VisitElement(test.type, [&]<Element E>(E) { RunCase<typename E::Storage>(mpi, session, test); });
}

// Equal blocks of several lengths and, where blocks may differ, skewed ones, some of them empty.
std::vector<Counts> CountsOf(const Shape& shape) {
  std::vector<Counts> all;
  for (const std::uint64_t count : {0, 1, 5, 1000}) all.push_back(EvenCounts(shape, count));
  const Collective c = shape.collective;
  const bool own_blocks = c == Collective::kReduceScatter || c == Collective::kAllGather ||
                          c == Collective::kGather || c == Collective::kScatter;
  if (!own_blocks && c != Collective::kAllToAllV) return all;
  for (const int shift : {0, 1, 2}) {
    Counts skewed = EvenCounts(shape, 0);
    for (std::size_t i = 0; i < skewed.counts.size(); ++i) {
      skewed.counts[i] = (i * 2 + shift) % 3 * 7;
    }
    all.push_back(skewed);
  }
  return all;
}

void RunCollective(MpiBaseline& mpi, Session& session, Collective collective) {
  std::vector<DataType> types(kReducedTypes.begin(), kReducedTypes.end());
  if (!Reduces(collective)) {
    types.insert(types.end(), kMovedOnlyTypes.begin(), kMovedOnlyTypes.end());
  }
  const int roots = HasRoot(collective) ? session.ranks() : 1;
  for (int root = 0; root < roots; ++root) {
    for (const Counts& counts : CountsOf({collective, session.ranks(), root})) {
      for (const DataType type : types) {
        RunTyped(mpi, session, {counts, type, false, nullptr});
        const bool has_in_place = Layout(counts, type, Cut{}).FindInPlace(0).supported;
        if (has_in_place && collective != Collective::kReduceScatter) {
          RunTyped(mpi, session, {counts, type, true, nullptr});
        }
      }
    }
  }
}

// B17 of the public cases: whatever other ranks than the root pass for the root's buffer, a null
// pointer or one that would end the program.
void TestIgnoredArguments(MpiBaseline& mpi, Session& session) {
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
    for (int root = 0; root < session.ranks(); ++root) {
      const Counts counts = EvenCounts({collective, session.ranks(), root}, 1000);
      RunTyped(mpi, session, {counts, DataType::kFloat64, false, nullptr});
      auto* const address = reinterpret_cast<std::byte*>(8);  // NOLINT(performance-no-int-to-ptr)
      RunTyped(mpi, session, {counts, DataType::kFloat64, false, address});
    }
  }
}

// The reason, which Prepare must throw on every rank.
std::string Refused(MpiBaseline& mpi, const Call& call) {
  try {
    mpi.Prepare(call);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  throw std::logic_error("Prepare refused nothing");
}

Call CallOf(Collective collective, int ranks, std::uint64_t count) {
  Call call;
  call.shape = {collective, ranks, 0};
  call.counts = EvenCounts(call.shape, count);
  return call;
}

void TestRefusals(MpiBaseline& mpi, Session& session) {
  const int ranks = session.ranks();
  Call call = CallOf(Collective::kAllReduce, ranks, 4);
  call.type = DataType::kBfloat16;
  Expect(mpi.WhyNot(call) == "MPI has no type bfloat16", mpi.WhyNot(call));
  Expect(Refused(mpi, call) == mpi.WhyNot(call), "another reason");
  call.type = DataType::kFloat32;
  call.op = ReduceOp::kAvg;
  Expect(mpi.WhyNot(call) == "MPI has no operator avg", mpi.WhyNot(call));
  call.counts = EvenCounts(call.shape, 3'000'000'000);
  call.op = ReduceOp::kMax;
  Expect(mpi.WhyNot(call) == "count 3000000000 is above MPI's limit of 2147483647",
         mpi.WhyNot(call));

  Call gather = CallOf(Collective::kAllGather, ranks, 2'000'000'000);
  Expect(mpi.WhyNot(gather).empty(), "equal blocks have no displacements");
  gather.counts.counts[0] = 2'147'483'647;
  const bool above = ranks > 2;  // the last block starts behind all others
  Expect(mpi.WhyNot(gather).empty() == !above, mpi.WhyNot(gather));
  const std::uint64_t start = 2'147'483'647 + 2'000'000'000 * std::uint64_t(ranks - 2);
  if (above) {
    Expect(mpi.WhyNot(gather).starts_with(
               fmt::format("displacement {} of the block of rank {} is", start, ranks - 1)),
           mpi.WhyNot(gather));
  }
  Call pairs = CallOf(Collective::kAllToAllV, ranks, 8);
  pairs.counts.counts[ranks] = 3'000'000'000;  // from rank 1 to rank 0
  Expect(mpi.WhyNot(pairs) == "count 3000000000 of rank 1 is above MPI's limit of 2147483647",
         mpi.WhyNot(pairs));

  // Only one rank's block has elements: the others must refuse with it.
  Call scatter = CallOf(Collective::kReduceScatter, ranks, 0);
  scatter.counts.counts[1] = 8;
  std::vector<float> buffer(8);
  scatter.input = reinterpret_cast<std::byte*>(buffer.data());
  if (session.rank() == 1) scatter.output = scatter.input;
  Expect(mpi.WhyNot(scatter).empty() == (session.rank() != 1), mpi.WhyNot(scatter));
  Expect(Refused(mpi, scatter).starts_with("MPI's in-place reduce_scatter"), "another reason");
}

void TestLibrary(const MpiBaseline& mpi) {
  Expect(
      ShortMpiVersion("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4") == "Open MPI 4.1.4",
      "Open MPI");
  Expect(ShortMpiVersion("MPICH Version:      4.0.2\nMPICH Release date: Thu\n") == "MPICH 4.0.2",
         "MPICH");
  Expect(ShortMpiVersion("Intel(R) MPI Library 2021.6 for Linux* OS\n") ==
             "Intel(R) MPI Library 2021.6 for Linux* OS",
         "others");
  Expect(!mpi.Library().empty() && !mpi.Module().empty(), "no name");
  fmt::print("{}; {}; single copy '{}'\n", mpi.Library(), mpi.Module(), mpi.SingleCopy());
}

int Main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::stoi(argv[1]) : 0;
  Session session = Session::StartMpi(&argc, &argv, 60);
  try {
    Expect(session.ranks() == ranks, fmt::format("{} ranks", session.ranks()));
    MpiBaseline mpi(session);
    TestLibrary(mpi);
    for (const Collective collective : kAllCollectives) RunCollective(mpi, session, collective);
    TestIgnoredArguments(mpi, session);
    TestRefusals(mpi, session);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", session.rank(), error.what());
    _exit(1);
  }
  return 0;
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) { return hockney::Main(argc, argv); }
