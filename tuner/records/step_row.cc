#include "tuner/records/step_row.h"

#include <filesystem>

namespace hockney {
namespace {

constexpr bool kRequired = true;

constexpr Column<StepRow> kStepColumns[] = {
    {"model", &StepRow::model, kRequired},
    {"scale", &StepRow::scale},
    {"tokens_per_sample", &StepRow::tokens_per_sample},
    {"dtype", &StepRow::dtype},
    {"ranks", &StepRow::ranks, kRequired},
    {"nodes", &StepRow::nodes, kRequired},
    {"parallel", &StepRow::parallel},
    {"sharding", &StepRow::sharding, kRequired},
    {"shard_ranks", &StepRow::shard_ranks},
    {"prefetch", &StepRow::prefetch},
    {"pipeline", &StepRow::pipeline},
    {"chunks", &StepRow::chunks},
    {"micro_batches", &StepRow::micro_batches},
    {"micro_batch", &StepRow::micro_batch},
    {"no_sync", &StepRow::no_sync},
    {"sequence_parallel", &StepRow::sequence_parallel},
    {"expert_skew", &StepRow::expert_skew},
    {"buckets", &StepRow::buckets},
    {"bucket_cap_bytes", &StepRow::bucket_cap_bytes},
    {"gradient_dtype", &StepRow::gradient_dtype},
    {"compute", &StepRow::compute, kRequired},
    {"device", &StepRow::device},
    {"efficiency", &StepRow::efficiency},
    {"layer_times", &StepRow::layer_times},
    {"implementation", &StepRow::implementation, kRequired},
    {"memory_kind", &StepRow::memory_kind},
    {"status", &StepRow::status, kRequired},
    {"reason", &StepRow::reason},
    {"steps", &StepRow::steps},
    {"step_ms_median", &StepRow::step_ms_median, kRequired},
    {"step_ms_ci_low", &StepRow::step_ms_ci_low},
    {"step_ms_ci_high", &StepRow::step_ms_ci_high},
    {"compute_ms", &StepRow::compute_ms},
    {"communication_ms", &StepRow::communication_ms},
    {"exposed_ms", &StepRow::exposed_ms},
    {"hidden_ms", &StepRow::hidden_ms},
    {"collectives", &StepRow::collectives},
    {"gradient_buckets", &StepRow::gradient_buckets},
    {"communicated_bytes", &StepRow::communicated_bytes},
    {"padding_bytes", &StepRow::padding_bytes},
    {"tokens_per_s", &StepRow::tokens_per_s},
    {"mfu", &StepRow::mfu},
    {"data_errors", &StepRow::data_errors},
    {"launch", &StepRow::launch},
};

}  // namespace

std::span<const Column<StepRow>> StepRow::Columns() { return kStepColumns; }

std::vector<StepRow> ReadSteps(const std::string& path, std::vector<std::string>* notes) {
  const std::filesystem::path given(path);
  const bool is_folder = std::filesystem::is_directory(given);
  return ReadTable<StepRow>((is_folder ? given / "step.csv" : given).string(), notes);
}

}  // namespace hockney
