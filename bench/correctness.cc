#include "bench/correctness.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/data_check.h"
#include "collectives/expectation.h"

namespace hockney {
namespace {

// Compared in blocks, so that the expectation needs little memory.
constexpr std::size_t kBlockBytes = 256 * 1024;

struct Mismatch {
  std::uint64_t errors = 0;
  std::uint64_t first_element = 0;  // of the output
};

// Compares one block of the output with its expectation.
Mismatch CompareBlock(const DataSpec& spec, const Layout& layout, std::span<const std::byte> output,
                      ByteRange block, ChunkExpectation expected) {
  const std::size_t element = ElementBytes(spec.type);
  const int source = std::max(expected.rank, 0);
  const std::uint64_t source_begin =
      layout.Find(source, Buffer::kInput, expected.chunk).offset / element;
  std::vector<std::byte> wanted;
  Mismatch result;
  for (std::size_t at = 0; at < block.bytes; at += kBlockBytes) {
    const std::size_t bytes = std::min(kBlockBytes, block.bytes - at);
    wanted.resize(bytes);
    const std::uint64_t first = source_begin + at / element;
    if (expected.reduced) {
      ExpectedReduced(spec, first, wanted);
    } else {
      ExpectedInput(spec, expected.rank, first, wanted);
    }
    std::uint64_t bad = 0;
    const std::uint64_t errors =
        CountMismatches(output.subspan(block.offset + at, bytes), wanted, spec.type, 0, &bad);
    if (errors > 0 && result.errors == 0) {
      result.first_element = (block.offset + at) / element + bad;
    }
    result.errors += errors;
  }
  return result;
}

Mismatch CompareOutput(const DataSpec& spec, const Layout& layout, int rank,
                       std::span<const std::byte> output) {
  Mismatch result;
  for (int block = 0; block < layout.ChunkCount(rank, Buffer::kOutput); ++block) {
    const Mismatch found =
        CompareBlock(spec, layout, output, layout.Find(rank, Buffer::kOutput, block),
                     ExpectChunk(layout, rank, block));
    if (result.errors == 0) result.first_element = found.first_element;
    result.errors += found.errors;
  }
  return result;
}

// Apart from in-place calls nobody may write an input.
std::uint64_t CountInputErrors(const DataSpec& spec, int rank, std::span<const std::byte> input) {
  std::vector<std::byte> wanted;
  std::uint64_t errors = 0;
  for (std::size_t at = 0; at < input.size(); at += kBlockBytes) {
    wanted.resize(std::min(kBlockBytes, input.size() - at));
    FillInput(spec, rank, at / ElementBytes(spec.type), wanted);
    errors += CountMismatches(input.subspan(at, wanted.size()), wanted, spec.type);
  }
  return errors;
}

DataSpec SpecOf(const Call& call, std::uint64_t seed) {
  return {.type = call.type,
          .op = call.op,
          .reduces = Reduces(call.shape.collective),
          .ranks = call.shape.ranks,
          .seed = seed};
}

struct Told {
  std::uint64_t output_errors = 0;
  std::uint64_t first_element = 0;
  std::uint64_t input_errors = 0;
  bool guards_intact = true;
};

}  // namespace

void FillForCheck(int rank, const Call& call, const BufferSet& set, std::uint64_t seed) {
  set.MarkGuards();
  Poison(set.output());
  if (!set.input().empty()) FillInput(SpecOf(call, seed), rank, 0, set.input());
}

CheckResult CheckData(Session& session, Prepared& prepared, const Call& call, const BufferSet& set,
                      std::uint64_t seed) {
  FillForCheck(session.rank(), call, set, seed);
  session.Barrier();
  prepared.Run();
  session.Barrier();
  return CompareData(session, call, set, seed);
}

CheckResult CompareData(Session& session, const Call& call, const BufferSet& set,
                        std::uint64_t seed) {
  const int rank = session.rank();
  const Layout layout(call.counts, call.type, Cut{});
  const DataSpec spec = SpecOf(call, seed);
  const bool apart = set.input().data() + set.input().size() <= set.output().data() ||
                     set.output().data() + set.output().size() <= set.input().data();
  const Mismatch mismatch = CompareOutput(spec, layout, rank, set.output());
  Told told{mismatch.errors, mismatch.first_element,
            apart ? CountInputErrors(spec, rank, set.input()) : 0, set.GuardsIntact()};
  std::vector<std::byte> bytes(sizeof told);
  std::memcpy(bytes.data(), &told, sizeof told);
  CheckResult result;
  const auto all = session.AllGather(bytes);
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::memcpy(&told, all[r].data(), sizeof told);
    result.errors +=
        told.output_errors + (told.input_errors > 0 ? 1 : 0) + (told.guards_intact ? 0 : 1);
    if (!result.reason.empty()) continue;
    const std::string who = "rank " + std::to_string(r);
    if (told.output_errors > 0) {
      result.reason = who + ": " + std::to_string(told.output_errors) +
                      " wrong elements, the first at " + std::to_string(told.first_element);
    } else if (told.input_errors > 0) {
      result.reason = who + ": the input was written to";
    } else if (!told.guards_intact) {
      result.reason = who + ": bytes outside the buffers were written to";
    }
  }
  return result;
}

}  // namespace hockney
