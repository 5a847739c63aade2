#include "tests/collectives/executor_cases.h"

#include <algorithm>
#include <cstring>

#include "collectives/levels.h"
#include "collectives/reference.h"

namespace hockney::testing {
namespace {

constexpr double kTimeoutSeconds = 60;
constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5};

struct Room {
  std::size_t input = 0;
  std::size_t output = 0;
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
  std::size_t end = 0;
};

Room FindRoom(const ExecutorCase& test, const Layout& layout, int rank) {
  Room room;
  room.input_bytes = layout.BufferBytes(rank, Buffer::kInput);
  room.output_bytes = layout.BufferBytes(rank, Buffer::kOutput);
  const std::size_t base = kGuardBytes + test.misalignment;
  const auto round = [](std::size_t n) { return (n + 127) / 128 * 128; };
  if (test.in_place) {
    const Layout::InPlace place = layout.FindInPlace(rank);
    room.input = base + (place.input_inside_output ? place.offset : 0);
    room.output = base + (place.input_inside_output ? 0 : place.offset);
    room.end = base + std::max(room.input_bytes, room.output_bytes) + kGuardBytes;
    // A buffer that does not exist at this rank leaves the other at its own place.
    if (room.output_bytes == 0) room.input = base;
    if (room.input_bytes == 0) room.output = base;
    return room;
  }
  room.input = base;
  room.output = base + round(room.input_bytes) + kGuardBytes;
  room.end = room.output + round(room.output_bytes) + kGuardBytes;
  return room;
}

std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// What every rank's arena holds before the call.
std::vector<std::byte> MakeImage(const ExecutorCase& test, const Layout& layout, int rank,
                                 std::uint64_t seed) {
  const Room room = FindRoom(test, layout, rank);
  std::vector<std::byte> image(room.end, kGuard);
  std::fill_n(image.begin() + static_cast<std::ptrdiff_t>(room.output), room.output_bytes,
              std::byte{0x5a});
  FillFinite(test.type, Mix(seed * 1000 + rank),
             std::span(image).subspan(room.input, room.input_bytes));
  return image;
}

// The images after the call, by the reference interpreter.
void RunOnImages(const ExecutorCase& test, const Layout& layout, const CallFlow& flow,
                 std::vector<std::vector<std::byte>>& images) {
  const Shape shape{
      .collective = test.row->collective, .ranks = test.counts.ranks, .root = test.counts.root};
  Parameters parameters = flow.parameters;
  parameters.in_place = test.in_place;
  const std::vector<RankProgram> programs = BuildAll(*test.row, shape, parameters);
  std::vector<RankBuffers> buffers;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Room room = FindRoom(test, layout, rank);
    buffers.push_back({std::span(images[rank]).subspan(room.input, room.input_bytes),
                       std::span(images[rank]).subspan(room.output, room.output_bytes)});
  }
  RunReference(programs, layout, test.op, flow.flow, buffers);
}

}  // namespace

void FillFinite(DataType type, std::uint64_t seed, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = Mix(seed + i);
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i));
  }
  if (!IsFloat(type)) return;
  // Clearing one exponent bit below the top leaves no infinity and no NaN.
  const std::size_t element = ElementBytes(type);
  std::byte mask{0xbf};  // float16, e4m3, e5m2: 5 or 4 exponent bits
  if (type == DataType::kFloat32 || type == DataType::kBfloat16) mask = std::byte{0xdf};
  if (type == DataType::kFloat64) mask = std::byte{0xdf};
  for (std::size_t i = element - 1; i < bytes.size(); i += element) bytes[i] &= mask;
}

std::string Describe(const ExecutorCase& test) {
  std::string levels;
  if (test.parameters.levels != Levels{}) levels = " " + ParametersOf(test.parameters.levels);
  if (test.parameters.placement != nullptr) {
    for (const int node : test.parameters.placement->node_of_rank) {
      levels += " " + std::to_string(node);
    }
  }
  std::string counts;
  for (std::size_t i = 0; i < std::min<std::size_t>(test.counts.counts.size(), 4); ++i) {
    counts += " " + std::to_string(test.counts.counts[i]);
  }
  return std::string(Name(test.row->collective)) + " " + std::string(test.row->name) + levels +
         " ranks " + std::to_string(test.counts.ranks) + " root " +
         std::to_string(test.counts.root) + " " + std::string(Name(test.type)) + " " +
         std::string(Name(test.op)) + " counts" + counts +
         (test.parameters.protocol == Protocol::kLl ? " ll" : " simple") + " lanes " +
         std::to_string(test.parameters.lanes) + " slices " +
         std::to_string(test.parameters.slices) + (test.in_place ? " in place" : "") + " off " +
         std::to_string(test.misalignment) + (test.store == StorePolicy::kNonTemporal ? " nt" : "");
}

std::size_t ArenaBytes(const ExecutorCase& test) {
  const Layout layout(test.counts, test.type, Cut{});
  std::size_t bytes = 0;
  for (int rank = 0; rank < test.counts.ranks; ++rank) {
    bytes = std::max(bytes, FindRoom(test, layout, rank).end);
  }
  return bytes;
}

std::vector<ExecutorCase> EveryRow(int ranks, Protocol protocol) {
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
    if (Layout(test.counts, test.type, Cut{}).FindInPlace(0).supported) cases.push_back(test);
  }
  return cases;
}

DomainOptions WithRoomFor(const std::vector<ExecutorCase>& cases, DomainOptions options) {
  for (const ExecutorCase& test : cases) {
    options.arena_bytes = std::max(options.arena_bytes, ArenaBytes(test));
  }
  return options;
}

PlannedCase::PlannedCase(ExecutorCase test, const FlowLimits& limits)
    : test_(std::move(test)),
      flow_(ChooseFlow(*test_.row, test_.counts, test_.type, test_.parameters, limits)),
      layout_(test_.counts, test_.type, flow_.cut) {}

Call PlannedCase::MakeCall(int rank, std::byte* arena) const {
  const Room room = FindRoom(test_, layout_, rank);
  Call call;
  call.shape = {test_.row->collective, test_.counts.ranks, test_.counts.root};
  call.counts = test_.counts;
  call.type = test_.type;
  call.op = test_.op;
  if (room.input_bytes > 0) call.input = arena + room.input;
  if (room.output_bytes > 0) call.output = arena + room.output;
  return call;
}

std::vector<std::byte> PlannedCase::Before(int rank, std::uint64_t seed) const {
  return MakeImage(test_, layout_, rank, seed);
}

std::string PlannedCase::Compare(std::uint64_t seed,
                                 std::span<const std::vector<std::byte>> arenas) const {
  std::vector<std::vector<std::byte>> wanted;
  wanted.reserve(test_.counts.ranks);
  for (int r = 0; r < test_.counts.ranks; ++r) wanted.push_back(Before(r, seed));
  RunOnImages(test_, layout_, flow_, wanted);
  for (int r = 0; r < test_.counts.ranks; ++r) {
    const auto at = std::mismatch(wanted[r].begin(), wanted[r].end(), arenas[r].begin()).first;
    if (at == wanted[r].end()) continue;
    const Room room = FindRoom(test_, layout_, r);
    return Describe(test_) + ": seed " + std::to_string(seed) + ": rank " + std::to_string(r) +
           " differs at arena byte " + std::to_string(at - wanted[r].begin()) + " (input at " +
           std::to_string(room.input) + ", output at " + std::to_string(room.output) + ")";
  }
  return "";
}

std::string RunCase(Session& session, const Ground& ground, const ExecutorCase& test, int calls) {
  const int rank = session.rank();
  const PlannedCase planned(test, ground.limits);
  const auto prepared =
      ground.prepare(planned.MakeCall(rank, ground.arena), *test.row, planned.flow(), test.store);
  std::string wrong;
  for (int n = 0; n < calls; ++n) {
    const std::uint64_t seed = 1 + static_cast<std::uint64_t>(n);
    const std::vector<std::byte> mine = planned.Before(rank, seed);
    ground.write(mine);
    prepared->Run();
    const auto arenas = session.AllGather(ground.read(mine.size()));
    if (rank == 0 && wrong.empty()) wrong = planned.Compare(seed, arenas);
    session.Barrier();
  }
  return wrong;
}

std::string RunCases(int ranks, const std::vector<ExecutorCase>& cases,
                     const DomainOptions& options, int calls, const MakeGround& make_ground) {
  const DomainOptions roomy = WithRoomFor(cases, options);
  std::string result;
  RunThreadRanks(ranks, kTimeoutSeconds, [&](Session& session) {
    const Ground ground = make_ground(session, roomy);
    for (const ExecutorCase& test : cases) {
      const std::string wrong = RunCase(session, ground, test, calls);
      if (session.rank() == 0 && result.empty()) result = wrong;
    }
    session.Barrier();
  });
  return result;
}

int CountPacketsLeft(std::uint64_t first_count, const MakeGround& make_ground) {
  ExecutorCase test;
  test.row = FindAlgorithm(Collective::kAllReduce, "one_shot");
  test.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 200);
  test.parameters.protocol = Protocol::kLl;
  DomainOptions options;
  options.arena_bytes = ArenaBytes(test);
  options.limits.packet_slot_bytes = 1024;
  options.first_count = first_count;
  int left = 0;
  RunThreadRanks(2, kTimeoutSeconds, [&](Session& session) {
    const Ground ground = make_ground(session, options);
    const std::string wrong = RunCase(session, ground, test, options.limits.slots);
    if (session.rank() == 0) {
      const auto words = ground.packets(1);
      const auto clean = std::ranges::count(words, std::uint64_t{0});
      left = wrong.empty() ? static_cast<int>(words.size()) - static_cast<int>(clean) : -1;
    }
    session.Barrier();
  });
  return left;
}

}  // namespace hockney::testing
