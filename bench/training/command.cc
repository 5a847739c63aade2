#include "bench/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bench/commands.h"
#include "bench/options.h"
#include "bench/training/step_run.h"
#include "tuner/training/step_plan.h"

namespace hockney {
namespace {

// Throws UsageError for what GPUs do not do, or nothing else does.
void CheckMemory(const StepCommandTexts& texts, const StepRow& row) {
  const bool on_devices = row.memory_kind == "cuda";
  if (row.implementation == "nccl" && !on_devices) {
    FailOption("--implementation", row.implementation,
               "--memory cuda beside nccl, which works on memory of GPUs only");
  }
  if (row.implementation == "mpi" && on_devices) {
    FailOption("--implementation", row.implementation, "hockney or nccl with --memory cuda");
  }
  if (texts.train > 0 && on_devices)
    FailOption("--memory", texts.memory.memory, "host, where --train trains");
}

StepCommandOptions ReadOptions(const CLI::App& command, const StepCommandTexts& texts) {
  constexpr std::string_view kComputes[] = {"emulate", "gemm"};
  StepCommandOptions options{.row = ReadStepOptions(texts.step)};
  StepRow& row = options.row;
  ParseChoice("--compute", texts.compute, kComputes);
  row.compute = texts.compute;
  if (row.compute == "gemm") row.device.clear();  // this machine sets the time
  if (texts.train > 0 && row.compute != "gemm")
    FailOption("--compute", row.compute, "gemm, whose products --train takes");
  if (texts.train > 0 && texts.append)
    throw UsageError("--append: a training has a run folder of its own");
  ParseChoice("--implementation", texts.implementation, kStepImplementations);
  row.implementation = texts.implementation;
  SweepOptions memory;
  ReadMemoryTexts(command, texts.memory, memory);
  row.memory_kind = texts.memory.memory;
  options.peer_memory = memory.peer_memory;
  CheckMemory(texts, row);
  const auto sharding = ParseSharding(row.sharding);
  if (sharding && GathersParameters(*sharding) &&
      (row.bucket_cap_bytes || !texts.step.sweep_buckets.empty())) {
    throw UsageError(fmt::format(
        "--bucket-cap, --sweep-buckets: expected none with --sharding {}, which reduces by units",
        row.sharding));
  }
  ReadBucketSweep(texts.step, row.bucket_cap_bytes, 1);  // so that all ranks hear of a bad one now
  if (row.compute == "gemm" && row.memory_kind == "host") options.gemm = Gemm::Load();
  return options;
}

Runner AddStep(CLI::App& program) {
  const auto texts = std::make_shared<StepCommandTexts>();
  CLI::App& command = *program.add_subcommand(
      "step", "Run a training step: compute, collectives and what hides behind what");
  command
      .add_option("--model", texts->step.row.model,
                  "A built-in model (hockney list --models), a Hugging Face config.json, or a CSV "
                  "of parameters")
      ->required();
  AddStepOptions(command, &texts->step);
  command
      .add_option("--compute", texts->compute,
                  "emulate (wait like a busy accelerator) or gemm (real matrix products)")
      ->capture_default_str();
  command
      .add_option("--implementation", texts->implementation,
                  "Whose collectives: hockney, mpi, or with --memory cuda nccl")
      ->capture_default_str();
  AddMemoryTexts(command, &texts->memory);
  command.add_option("--steps", texts->steps, "Steps to measure")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_option("--warmups", texts->warmups, "Steps before them")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command
      .add_option("--train", texts->train,
                  "With --compute gemm: train the model's MLP block for so many steps instead, "
                  "beside one rank alone")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--seed", texts->seed, "Of the gradients that are checked, or the training")
      ->capture_default_str();
  command.add_option("--out", texts->out, "Run folder (default hockney-runs/<UTC>_step)");
  command.add_flag("--append", texts->append, "Add to an existing run folder");
  AddTopologyOptions(command, &texts->sources);
  AddRankOptions(command, &texts->ranks);
  command.footer(
      "Example: mpirun -n 4 hockney step --model gpt2 --scale layers=4,hidden=256 --sweep-buckets "
      "auto");
  return [texts, &command](Launch& launch) {
    CheckTopologyOptions(texts->sources);
    const StepCommandOptions options = ReadOptions(command, *texts);
    texts->ranks.on_devices = options.row.memory_kind == "cuda";
    return launch.RunRanks(
        texts->ranks, [&](Session& session) { return RunStep(session, *texts, options, launch); });
  };
}

}  // namespace

Command StepCommand() { return {.name = "step", .add = AddStep}; }

}  // namespace hockney
