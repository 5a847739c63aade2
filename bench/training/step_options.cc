#include "bench/training/step_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "bench/options.h"
#include "tuner/training/ddp_buckets.h"

namespace hockney {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::optional<DataType> ReadType(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<DataType> types = ParseDataTypes(option, text);
  if (types.size() != 1) FailOption(option, text, "one type");
  if (!IsFloat(types.front())) FailOption(option, text, "a floating-point type");
  return types.front();
}

std::int64_t ReadCap(const char* option, const std::string& text) {
  try {
    return ParseBucketCap(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
}

}  // namespace

void AddStepOptions(CLI::App& command, StepTexts* texts) {
  CLI::App& group = *command.add_option_group("The step");
  StepRow& row = texts->row;
  group.add_option("--scale", row.scale,
                   "Other sizes of a transformer, for trials: layers=4,hidden=256");
  group
      .add_option("--seq-length", row.tokens_per_sample,
                  "Tokens of a sample (default: the model's own)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  group.add_option("--dtype", texts->dtype, "Type of all parameters (default: the model's own)");
  group.add_option("--parallel", row.parallel,
                   "Ranks by dimension: tp=2,cp=1,pp=2,ep=1; dp takes what is left");
  group
      .add_option("--sharding", row.sharding,
                  "What data-parallel ranks share out: ddp, zero1, zero2, zero3 (fsdp), hybrid")
      ->capture_default_str();
  group.add_option("--shard-ranks", row.shard_ranks, "With hybrid: ranks that share out one copy");
  group
      .add_option("--prefetch", row.prefetch, "With zero3 and hybrid: units gathered ahead, 0 to 2")
      ->capture_default_str();
  group.add_option("--pipeline", row.pipeline, "Schedule of stages: gpipe, 1f1b, interleaved")
      ->capture_default_str();
  group.add_option("--chunks", row.chunks, "With interleaved: parts of the model a rank")
      ->capture_default_str();
  group.add_option("--micro-batches", row.micro_batches, "Of a step, on each data-parallel rank")
      ->capture_default_str();
  group.add_option("--micro-batch", row.micro_batch, "Samples in one")->capture_default_str();
  group.add_flag("--sync-every", texts->sync_every,
                 "Reduce gradients after every micro-batch, not the last alone (no_sync)");
  group.add_flag("--sequence-parallel", row.sequence_parallel, "With tensor-parallel ranks");
  group
      .add_option("--expert-skew", row.expert_skew,
                  "With expert-parallel ranks: the first gets 1 + this times its share")
      ->capture_default_str();
  group.add_option("--bucket-cap", texts->bucket_cap,
                   "Size at which a bucket of gradients closes, in MiB as bucket_cap_mb, or with "
                   "its unit (default: 25, the "
                   "first 1)");
  group
      .add_option("--buckets", row.buckets,
                  "rebuilt (from the second iteration on), first_iteration, find_unused")
      ->capture_default_str();
  group.add_option("--gradient-dtype", texts->gradient_dtype,
                   "Type in which gradients are reduced (default: the parameter's)");
  group.add_option("--sweep-buckets", texts->sweep_buckets, "Bucket caps to try: 1,5,25, or auto");
  group.add_option(
      "--device", row.device,
      "Accelerator whose peak sets the time of computing: A100, H100, H200, B200, ...");
  group.add_option("--efficiency", row.efficiency, "Share of that peak which products reach")
      ->capture_default_str();
  group.add_option("--layer-times", row.layer_times,
                   "CSV of measured times: unit, forward_ms, backward_ms");
}

StepRow ReadStepOptions(const StepTexts& texts) {
  StepRow row = texts.row;
  row.dtype = ReadType("--dtype", texts.dtype);
  row.gradient_dtype = ReadType("--gradient-dtype", texts.gradient_dtype);
  row.no_sync = !texts.sync_every;
  if (!texts.bucket_cap.empty()) row.bucket_cap_bytes = ReadCap("--bucket-cap", texts.bucket_cap);
  if (row.device.empty() && row.layer_times.empty()) row.device = "H100";
  return row;
}

std::vector<std::optional<std::int64_t>> ReadBucketSweep(const StepTexts& texts,
                                                         std::optional<std::int64_t> own,
                                                         std::int64_t gradient_bytes) {
  if (texts.sweep_buckets.empty()) return {own};
  std::vector<std::int64_t> caps;
  if (own) caps.push_back(*own);
  if (texts.sweep_buckets == "auto") {
    caps.push_back(kMiB / 2);
    for (std::int64_t cap = kMiB; cap / 2 < gradient_bytes; cap *= 2) caps.push_back(cap);
  } else {
    for (const std::string& cap : CutAtCommas(texts.sweep_buckets)) {
      caps.push_back(ReadCap("--sweep-buckets", cap));
    }
  }
  std::sort(caps.begin(), caps.end());
  caps.erase(std::unique(caps.begin(), caps.end()), caps.end());
  std::vector<std::optional<std::int64_t>> sweep = {std::nullopt};
  sweep.insert(sweep.end(), caps.begin(), caps.end());
  return sweep;
}

std::string BucketCapText(std::optional<std::int64_t> cap_bytes) {
  if (!cap_bytes) return "default";
  if (*cap_bytes == 0) return "one tensor";
  const double mib = static_cast<double>(*cap_bytes) / static_cast<double>(kMiB);
  return mib < 0.01 ? fmt::format("{} B", *cap_bytes) : fmt::format("{:g} MiB", mib);
}

}  // namespace hockney
