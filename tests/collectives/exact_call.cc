#include "tests/collectives/exact_call.h"

#include <algorithm>
#include <array>

namespace hockney::testing {
namespace {

constexpr double kTimeoutSeconds = 60;
constexpr std::size_t kGuardBytes = 128;
constexpr std::byte kGuard{0xa5};
constexpr std::byte kPoison{0x5a};

// One rank's buffers in its arena, with guard bytes around each.
class Room {
 public:
  Room(const ExactCall& call, const Layout& layout, int rank) {
    input_.bytes = layout.BufferBytes(rank, Buffer::kInput);
    output_.bytes = layout.BufferBytes(rank, Buffer::kOutput);
    input_.offset = output_.offset = kGuardBytes;
    if (call.in_place && input_.bytes > 0 && output_.bytes > 0) {
      const Layout::InPlace place = layout.FindInPlace(rank);
      (place.input_inside_output ? input_ : output_).offset += place.offset;
      first_ = second_ = input_.bytes > output_.bytes ? input_ : output_;
    } else {
      output_.offset = (End(input_) + 2 * kGuardBytes) / kGuardBytes * kGuardBytes;
      first_ = input_;
      second_ = output_;
    }
  }
  std::size_t bytes() const { return End(second_) + kGuardBytes; }
  std::span<std::byte> Input(std::span<std::byte> arena) const {
    return arena.subspan(input_.offset, input_.bytes);
  }
  std::span<std::byte> Output(std::span<std::byte> arena) const {
    return arena.subspan(output_.offset, output_.bytes);
  }
  void MarkGuards(std::span<std::byte> arena) const {
    for (const ByteRange& gap : Gaps()) {
      std::fill_n(arena.begin() + static_cast<std::ptrdiff_t>(gap.offset), gap.bytes, kGuard);
    }
  }
  bool GuardsIntact(std::span<const std::byte> arena) const {
    for (const ByteRange& gap : Gaps()) {
      const auto bytes = arena.subspan(gap.offset, gap.bytes);
      if (std::count(bytes.begin(), bytes.end(), kGuard) != std::ssize(bytes)) return false;
    }
    return true;
  }

 private:
  static std::size_t End(const ByteRange& range) { return range.offset + range.bytes; }
  // Before the first buffer, between the two, and behind the last.
  std::array<ByteRange, 3> Gaps() const {
    const std::size_t between = std::max(second_.offset, End(first_)) - End(first_);
    return {ByteRange{0, first_.offset}, ByteRange{End(first_), between},
            ByteRange{End(second_), kGuardBytes}};
  }

  ByteRange input_;
  ByteRange output_;
  ByteRange first_;  // in place both are the longer buffer
  ByteRange second_;
};

std::size_t ArenaBytes(const ExactCall& call, const Layout& layout) {
  std::size_t bytes = 0;
  for (int rank = 0; rank < call.counts.ranks; ++rank) {
    bytes = std::max(bytes, Room(call, layout, rank).bytes());
  }
  return bytes;
}

std::string Describe(const ExactCall& call) {
  return std::string(Name(call.row->collective)) + " " + std::string(call.row->name) +
         (call.protocol == Protocol::kLl ? " ll" : "") + " of " +
         std::to_string(call.counts.ranks) + " root " + std::to_string(call.counts.root) + " " +
         std::string(Name(call.type)) + " " + std::string(Name(call.op)) +
         (call.in_place ? " in place" : "");
}

// One rank's part. Returns its complaint.
std::string RunRank(Session& session, const ExactCall& call, const Layout& plain,
                    const FillInputOf& fill, const CheckOutputOf& check) {
  HostDomain::Options options;
  options.lanes = 4;
  options.limits.slot_bytes = 4096;  // several pieces already for short vectors
  options.limits.packet_slot_bytes = 1024;
  options.arena_bytes = ArenaBytes(call, plain);
  HostDomain domain(session, options);
  HostExecutor executor(session, domain,
                        {.oversubscribed = true, .timeout_seconds = kTimeoutSeconds});
  Parameters parameters;
  parameters.protocol = call.protocol;
  const CallFlow flow =
      ChooseFlow(*call.row, call.counts, call.type, parameters, domain.options().limits);
  const int rank = session.rank();
  const Room room(call, plain, rank);
  const std::span<std::byte> arena = domain.arena().first(room.bytes());
  const std::span<std::byte> input = room.Input(arena);
  const std::span<std::byte> output = room.Output(arena);
  Call mine;
  mine.shape = {call.row->collective, call.counts.ranks, call.counts.root};
  mine.counts = call.counts;
  mine.type = call.type;
  mine.op = call.op;
  mine.input = input.empty() ? call.absent_buffer : input.data();
  mine.output = output.empty() ? call.absent_buffer : output.data();
  const auto prepared = executor.Prepare(mine, *call.row, flow, StorePolicy::kCached);
  std::string wrong;
  for (int n = 0; n < call.calls; ++n) {
    room.MarkGuards(arena);
    std::fill(output.begin(), output.end(), kPoison);
    fill(rank, input);
    const std::vector<std::byte> before(input.begin(), input.end());
    session.Barrier();
    prepared->Run();
    session.Barrier();
    if (wrong.empty()) wrong = check(rank, output);
    const bool apart = !call.in_place && !std::equal(before.begin(), before.end(), input.begin());
    if (wrong.empty() && apart) wrong = "the input was written to";
    if (wrong.empty() && !room.GuardsIntact(arena)) wrong = "a byte outside was written to";
  }
  session.Barrier();  // nobody's arena goes while others look into theirs
  return wrong;
}

}  // namespace

std::vector<Protocol> ProtocolsOf(const Algorithm& row) {
  if (row.has_ll) return {Protocol::kSimple, Protocol::kLl};
  return {Protocol::kSimple};
}

std::string RunExactly(const ExactCall& call, const FillInputOf& fill, const CheckOutputOf& check) {
  const Layout plain(call.counts, call.type, Cut{});
  std::vector<std::string> wrong(call.counts.ranks);
  RunThreadRanks(call.counts.ranks, kTimeoutSeconds, [&](Session& session) {
    wrong[session.rank()] = RunRank(session, call, plain, fill, check);
  });
  for (std::size_t rank = 0; rank < wrong.size(); ++rank) {
    if (wrong[rank].empty()) continue;
    return Describe(call) + ": rank " + std::to_string(rank) + ": " + wrong[rank];
  }
  return "";
}

}  // namespace hockney::testing
