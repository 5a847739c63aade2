#include "tuner/training/pipeline_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace hockney {
namespace {

struct NamedKind {
  std::string_view name;
  PipelineKind kind;
};
constexpr NamedKind kKinds[] = {{"forward_only", PipelineKind::kForwardOnly},
                                {"gpipe", PipelineKind::kGPipe},
                                {"1f1b", PipelineKind::kOneForwardOneBackward},
                                {"interleaved", PipelineKind::kInterleaved}};

std::int64_t GroupOf(const PipelineShape& shape) {
  return shape.group == 0 ? shape.ranks : shape.group;
}

// The passes of a rank in the order of the forward passes: a group of micro-batches through all
// chunks, then the next group. One chunk makes it the plain order.
std::vector<PipelineOp> ForwardOrder(const PipelineShape& shape) {
  std::vector<PipelineOp> order;
  const std::int64_t group = GroupOf(shape);
  for (std::int64_t first = 0; first < shape.micro_batches; first += group) {
    const std::int64_t end = std::min(first + group, shape.micro_batches);
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::int64_t micro_batch = first; micro_batch < end; ++micro_batch) {
        order.push_back({Pass::kForward, micro_batch, chunk});
      }
    }
  }
  return order;
}

}  // namespace

std::string_view Name(PipelineKind kind) {
  for (const NamedKind& named : kKinds) {
    if (named.kind == kind) return named.name;
  }
  throw std::invalid_argument(fmt::format("pipeline kind {}", static_cast<int>(kind)));
}

std::optional<PipelineKind> ParsePipelineKind(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const NamedKind& named : kKinds) {
    if (named.name == lower) return named.kind;
  }
  return std::nullopt;
}

std::string WhyNotScheduled(const PipelineShape& shape) {
  const auto [kind, ranks, micro_batches, chunks, group] = shape;
  if (ranks < 1 || micro_batches < 1 || chunks < 1 || group < 0) {
    return fmt::format("pp {}, {} micro-batches, vpp {}, groups of {}: expected at least 1 of each",
                       ranks, micro_batches, chunks, group);
  }
  if (chunks == 1) return "";
  if (kind != PipelineKind::kInterleaved) {
    return fmt::format("vpp {} with {}: only interleaved has several virtual stages a rank", chunks,
                       Name(kind));
  }
  if (ranks < 2) return fmt::format("vpp {} with pp 1: expected pp of at least 2", chunks);
  if (GroupOf(shape) < ranks) {
    return fmt::format("groups of {} micro-batches: expected at least pp {}", group, ranks);
  }
  const std::int64_t rest = micro_batches % GroupOf(shape);
  if (group == 0 && rest != 0) {
    return fmt::format("{} micro-batches are not a multiple of pp {}, which interleaving needs",
                       micro_batches, ranks);
  }
  if (rest != 0 && rest < ranks) {
    return fmt::format(
        "{} micro-batches leave {} after groups of {}: expected none or at least pp {}",
        micro_batches, rest, group, ranks);
  }
  return "";
}

std::int64_t WarmUpPasses(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t passes = shape.micro_batches * shape.chunks;
  const std::int64_t behind = shape.ranks - rank - 1;
  switch (shape.kind) {
    case PipelineKind::kForwardOnly:
    case PipelineKind::kGPipe:
      return passes;
    case PipelineKind::kOneForwardOneBackward:
      return std::min(behind, passes);
    case PipelineKind::kInterleaved:
      if (shape.chunks == 1) return std::min(behind, passes);
      return std::min(2 * behind + (shape.chunks - 1) * GroupOf(shape), passes);
  }
  throw std::invalid_argument(fmt::format("pipeline kind {}", static_cast<int>(shape.kind)));
}

PipelineSchedule SchedulePipeline(const PipelineShape& shape) {
  const std::string reason = WhyNotScheduled(shape);
  if (!reason.empty()) throw std::invalid_argument(reason);
  const std::vector<PipelineOp> forward = ForwardOrder(shape);
  std::vector<PipelineOp> backward = forward;
  for (PipelineOp& op : backward)
    op = {Pass::kBackward, op.micro_batch, shape.chunks - 1 - op.chunk};
  PipelineSchedule schedule;
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    const std::int64_t warm_up = WarmUpPasses(shape, rank);
    std::vector<PipelineOp>& list =
        schedule.emplace_back(forward.begin(), forward.begin() + warm_up);
    if (shape.kind == PipelineKind::kForwardOnly) continue;
    auto next = backward.begin();
    for (auto op = forward.begin() + warm_up; op != forward.end(); ++op) {
      list.push_back(*op);
      list.push_back(*next++);
    }
    list.insert(list.end(), next, backward.end());
  }
  return schedule;
}

std::string WhyNotStaged(std::int64_t layers, std::int64_t stages) {
  if (layers < 1 || stages < 1) {
    return fmt::format("{} layers on {} stages: expected at least 1 of each", layers, stages);
  }
  if (layers % stages == 0 || (layers + 2) % stages == 0) return "";
  return fmt::format(
      "{} layers are not a multiple of {} pipeline stages, nor are {} with embedding and head",
      layers, stages, layers + 2);
}

std::vector<std::int64_t> LayersOfStages(std::int64_t layers, std::int64_t stages) {
  const std::string reason = WhyNotStaged(layers, stages);
  if (!reason.empty()) throw std::invalid_argument(reason);
  if (layers % stages == 0) return std::vector<std::int64_t>(stages, layers / stages);
  std::vector<std::int64_t> of_stages(stages, (layers + 2) / stages);
  --of_stages.front();
  --of_stages.back();
  return of_stages;
}

}  // namespace hockney
