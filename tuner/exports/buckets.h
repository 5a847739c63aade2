#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tuner/training/step_plan.h"

namespace hockney {

// A bucket size as a framework wants it told, in its own unit.
struct BucketExport {
  std::string_view name;       // ddp, fsdp, megatron, deepspeed, horovod
  std::string_view file_name;  // within exports/ of the run folder
  std::string (*text)(const StepPlan& plan,
                      std::int64_t cap_bytes) = nullptr;  // lines to paste, with comments
};

// All frameworks. `cap_bytes` is of gradients in the type in which the plan reduces them.
std::span<const BucketExport> AllBucketExports();

}  // namespace hockney
