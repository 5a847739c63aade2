#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/records/step_row.h"

namespace CLI {
class App;
}

namespace hockney {

// What a step is, as typed: shared by the commands that run one and that predict one.
struct StepTexts {
  StepRow row;  // what options write straight into it
  std::string dtype;
  std::string gradient_dtype;
  std::string bucket_cap;
  bool sync_every = false;
  std::string sweep_buckets;  // "auto" or caps
};

// Adds the options but --model; `texts` outlives the parse.
void AddStepOptions(CLI::App& command, StepTexts* texts);

// Returns the row that they state, without ranks and nodes. Throws UsageError.
StepRow ReadStepOptions(const StepTexts& texts);

// Returns the bucket caps in bytes to try, ascending, the framework's default (nothing) first:
// those named, or for "auto" powers of two of a MiB and a half up to all `gradient_bytes` in one.
// Nothing but `own` where no sweep was asked for. Throws UsageError.
std::vector<std::optional<std::int64_t>> ReadBucketSweep(const StepTexts& texts,
                                                         std::optional<std::int64_t> own,
                                                         std::int64_t gradient_bytes);

// "default", "25 MiB", "one tensor": a cap for people.
std::string BucketCapText(std::optional<std::int64_t> cap_bytes);

}  // namespace hockney
