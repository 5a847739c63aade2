#include "tests/gpu/speed.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "tests/gpu/block_ranks.h"

namespace hockney::testing {
namespace {

struct Subject {
  Collective collective;
  const char* row;
};
constexpr Subject kSubjects[] = {
    {Collective::kAllReduce, "two_shot"},   {Collective::kAllReduce, "one_shot"},
    {Collective::kAllReduce, "ring"},       {Collective::kAllGather, "direct"},
    {Collective::kReduceScatter, "direct"}, {Collective::kBroadcast, "direct"},
    {Collective::kAllToAll, "direct"},
};

constexpr int kSamples = 9;
constexpr int kGraphCalls = 10;

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Bytes that the inputs and outputs of all ranks hold: each must be read or written once.
std::size_t BytesOf(const PlannedCase& planned) {
  std::size_t bytes = 0;
  for (int rank = 0; rank < planned.test().counts.ranks; ++rank) {
    bytes += planned.layout().BufferBytes(rank, Buffer::kInput) +
             planned.layout().BufferBytes(rank, Buffer::kOutput);
  }
  return bytes;
}

// Seconds of a copy that reads and writes as many bytes.
double TimeCopyOf(Device& device, std::size_t bytes, int calls) {
  const std::size_t half = std::max<std::size_t>(bytes / 2, 1);
  const auto from = device.Allocate(half, PeerMemoryKind::kCudaIpc);
  const auto to = device.Allocate(half, PeerMemoryKind::kCudaIpc);
  return TimeCopy(device, to->data(), from->data(), half, calls);
}

std::string MeasureOne(Device& device, const SectionOptions& options, const Subject& subject,
                       std::size_t bytes) {
  const int ranks = options.most_ranks;
  ExecutorCase test;
  test.row = FindAlgorithm(subject.collective, subject.row);
  const bool shares =
      subject.collective != Collective::kAllReduce && subject.collective != Collective::kBroadcast;
  test.counts =
      EvenCounts({subject.collective, ranks, 0}, bytes / sizeof(float) / (shares ? ranks : 1));
  // As many blocks as the device holds, in whole lanes a rank.
  const int resident = device.ResidentBlocks(test.type, test.op, options.threads);
  test.parameters.lanes = std::clamp(resident / ranks, 1, 16);
  DomainOptions domain;
  domain.lanes = test.parameters.lanes;  // none of these rows takes more
  BlockRanks together(device, ranks, WithRoomFor({test}, domain));
  const PlannedCase planned(test, together.limits());
  auto prepared = together.Prepare(planned, options.threads, options.timeout_seconds);
  const int calls = bytes >= (std::size_t{4} << 20) ? 4 : 20;
  const std::size_t moved = BytesOf(planned);
  const std::vector<DeviceLaunch*> captured(kGraphCalls, prepared.launch.get());
  const auto graph = device.MakeGraph(captured);
  std::vector<double> ours;
  std::vector<double> copies;
  std::vector<double> graphs;
  for (int sample = 0; sample < kSamples; ++sample) {
    ours.push_back(TimeLaunch(device, *prepared.launch, calls));
    graphs.push_back(TimeLaunch(device, *graph, 1) / kGraphCalls);
    copies.push_back(TimeCopyOf(device, moved, calls));
  }
  // A lane that gave up has set the flag that ends this call, too.
  const std::string wrong = BlockRanks::Run(prepared);
  if (!wrong.empty()) throw std::runtime_error(Describe(test) + ": " + wrong);
  const double time = Median(ours);
  char line[200];
  std::snprintf(line, sizeof line, "%-15s %-9s %5d %11zu %10.2f %10.2f %9.1f %8.2f\n",
                std::string(Name(subject.collective)).c_str(), subject.row, test.parameters.lanes,
                bytes, time * 1e6, Median(graphs) * 1e6, static_cast<double>(moved) / time / 1e9,
                Median(copies) / time);
  return line;
}

}  // namespace

std::string MeasureSpeed(Device& device, const SectionOptions& options) {
  std::string table = std::to_string(options.most_ranks) +
                      " ranks as blocks of one launch, float32; medians of " +
                      std::to_string(kSamples) +
                      "; of_copy: time of a device-to-device copy of as many bytes over ours\n";
  table += "collective      row       lanes  size_bytes    time_us   graph_us      GB/s  of_copy\n";
  for (const Subject& subject : kSubjects) {
    for (std::size_t bytes = std::size_t{8} << 10; bytes <= options.most_bytes; bytes *= 16) {
      table += MeasureOne(device, options, subject, bytes);
    }
  }
  return table;
}

}  // namespace hockney::testing
