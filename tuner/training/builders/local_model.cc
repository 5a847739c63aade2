#include "tuner/training/builders/local_model.h"

#include <algorithm>

namespace hockney {
namespace {

// The tensor's part on a tensor-parallel rank, as one dimension: how it was cut does not matter to
// who reduces it.
ModelParameter PartOf(const ModelParameter& parameter, std::int64_t ranks) {
  ModelParameter part = parameter;
  part.shape = {(Elements(parameter) + ranks - 1) / ranks};
  return part;
}

LocalUnit LocalPart(const StepPlan& plan, int number, std::int64_t expert_rank) {
  const ModelUnit& unit = plan.model.units[number];
  const ParallelDegrees& degrees = plan.degrees;
  const std::int64_t expert_tensor = degrees.etp == 0 ? degrees.tp : degrees.etp;
  LocalUnit local{.unit = number};
  const auto first = plan.model.parameters.begin() + unit.first_parameter;
  const auto end = first + unit.parameters;
  const auto experts = std::count_if(
      first, end, [](const auto& each) { return each.split == ParameterSplit::kExpert; });
  std::int64_t expert = 0;
  for (auto each = first; each != end; ++each) {
    switch (each->split) {
      case ParameterSplit::kNone:
        local.dense.push_back(*each);
        break;
      case ParameterSplit::kTensor:
        local.dense.push_back(degrees.tp == 1 ? *each : PartOf(*each, degrees.tp));
        break;
      case ParameterSplit::kExpert:
        // Experts are registered one after the other, each with as many tensors.
        if (expert++ * degrees.ep / experts == expert_rank) {
          local.experts.push_back(expert_tensor == 1 ? *each : PartOf(*each, expert_tensor));
        }
        break;
    }
  }
  return local;
}

}  // namespace

std::vector<LocalUnit> UnitsOfStage(const StepPlan& plan, std::int64_t stage,
                                    std::int64_t expert_rank) {
  const auto& units = plan.model.units;
  const std::int64_t stages = plan.degrees.pp * plan.chunks;
  std::int64_t first = 0;
  std::int64_t end = static_cast<std::int64_t>(units.size());
  if (stages > 1) {
    const auto is_block = [](const ModelUnit& unit) { return unit.is_block; };
    const std::int64_t blocks_begin =
        std::find_if(units.begin(), units.end(), is_block) - units.begin();
    const std::vector<std::int64_t> layers = LayersOfStages(plan.model.transformer->layers, stages);
    if (stage > 0) first = blocks_begin;
    for (std::int64_t s = 0; s < stage; ++s) first += layers[s];
    if (stage + 1 < stages) end = (stage == 0 ? blocks_begin : first) + layers[stage];
  }
  std::vector<LocalUnit> local;
  for (std::int64_t unit = first; unit < end; ++unit) {
    local.push_back(LocalPart(plan, static_cast<int>(unit), expert_rank));
  }
  return local;
}

double AttentionShare(const ModelUnit& unit) {
  return unit.forward_flops > 0 ? unit.attention_flops / unit.forward_flops : 0;
}

}  // namespace hockney
