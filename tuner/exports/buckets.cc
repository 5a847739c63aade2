#include "tuner/exports/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hockney {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::int64_t GradientBytes(const StepPlan& plan) {
  return static_cast<std::int64_t>(
      ElementBytes(plan.gradient_type.value_or(plan.model.parameters.front().type)));
}

std::int64_t CapElements(const StepPlan& plan, std::int64_t cap_bytes) {
  return std::max<std::int64_t>(1, cap_bytes / GradientBytes(plan));
}

// MiB, as in torch/nn/parallel/distributed.py; a cap that is given is the first bucket's too.
std::string Ddp(const StepPlan& plan, std::int64_t cap_bytes) {
  return fmt::format(
      "# PyTorch DistributedDataParallel: MiB (1024 x 1024 bytes) of {} gradients\n"
      "model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb={:.6g})\n",
      plan.model.name, static_cast<double>(cap_bytes) / kMiB);
}

// There is no size in FSDP2: a message is what a wrapped group of modules holds.
std::string Fsdp(const StepPlan& plan, std::int64_t cap_bytes) {
  std::int64_t largest = 0;
  for (const ModelUnit& unit : plan.model.units) {
    if (!unit.is_block) continue;
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < unit.parameters; ++i) {
      bytes += Elements(plan.model.parameters[unit.first_parameter + i]) * GradientBytes(plan);
    }
    largest = std::max(largest, bytes);
  }
  const std::int64_t layers =
      largest == 0 ? 1 : std::max<std::int64_t>(1, (cap_bytes + largest / 2) / largest);
  return fmt::format(
      "# PyTorch FSDP2 has no size: one message is one wrapped group of layers ({} bytes a layer "
      "here).\n"
      "# Wrap {} layer{} at a time, then the model:\n"
      "for i in range(0, len(layers), {}):\n"
      "    fully_shard(list(layers[i : i + {}]))\n"
      "fully_shard(model)\n",
      largest, layers, layers == 1 ? "" : "s", layers, layers);
}

std::string Megatron(const StepPlan& plan, std::int64_t cap_bytes) {
  return fmt::format(
      "# Megatron-LM: elements (parameters), gradients of {} bytes; without overlap there are no "
      "buckets\n"
      "--overlap-grad-reduce --ddp-bucket-size {}\n",
      GradientBytes(plan), CapElements(plan, cap_bytes));
}

std::string DeepSpeed(const StepPlan& plan, std::int64_t cap_bytes) {
  const std::int64_t elements = CapElements(plan, cap_bytes);
  return fmt::format(
      "{{\n  \"zero_optimization\": {{\n    \"stage\": {},\n    \"overlap_comm\": true,\n"
      "    \"reduce_bucket_size\": {},\n    \"allgather_bucket_size\": {}\n  }}\n}}\n",
      plan.sharding == Sharding::kZero1 ? 1 : 2, elements, elements + elements % 2);
}

std::string Horovod(const StepPlan&, std::int64_t cap_bytes) {
  return fmt::format("# Horovod: bytes\nexport HOROVOD_FUSION_THRESHOLD={}\n", cap_bytes);
}

constexpr std::array<BucketExport, 5> kExports = {{{"ddp", "ddp.py", Ddp},
                                                   {"fsdp", "fsdp.py", Fsdp},
                                                   {"megatron", "megatron.txt", Megatron},
                                                   {"deepspeed", "deepspeed.json", DeepSpeed},
                                                   {"horovod", "horovod.sh", Horovod}}};

}  // namespace

std::span<const BucketExport> AllBucketExports() { return kExports; }

}  // namespace hockney
