#include "bench/nccl_tests/json.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bench/facts.h"
#include "bench/nccl_tests/names.h"
#include "topology/check.h"
#include "tuner/records/line_file.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 3;

// Booleans are texts in this schema, and readers compare them as such.
const char* Text(bool value) { return value ? "true" : "false"; }

Json RecordedEnvironment(std::span<const std::string> entries) {
  Json kept = Json::array();
  for (const std::string& entry : entries) {
    if (IsRecordedVariable(entry.substr(0, entry.find('=')))) kept.push_back(entry);
  }
  return kept;
}

Json DeviceJson(const RankDevice& device) {
  return {{"rank", device.rank},
          {"group", device.group},
          {"pid", device.pid},
          {"hostname", ShortHost(device)},
          {"device", device.device},
          {"device_hex", kHostBusId},
          {"device_info", DeviceName(device)}};
}

Json ConfigJson(const NcclTestsRun& run) {
  const NcclTestsOptions& options = run.options;
  Json config = {{"nthreads", options.threads},
                 {"ngpus", options.gpus},
                 {"minimum_bytes", options.begin_bytes},
                 {"maximum_bytes", options.end_bytes}};
  if (options.factor > 1) {
    config["step_factor"] = options.factor;
  } else {
    config["step_bytes"] = options.increment_bytes;
  }
  config["warmup_iters"] = options.warmups;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = options.aggregated;
  config["validation"] = options.checks;
  config["graph"] = 0;
  config["blocking_collectives"] = Text(options.blocking != Blocking::kNone);
  config["per_iter_timing"] = Text(options.per_iteration);
  config["per_iter_skip"] = options.per_iteration_skip;
  config["parallel_init"] = Text(false);
  config["devices"] = Json::array();
  for (const RankDevice& device : run.devices) config["devices"].push_back(DeviceJson(device));
  return config;
}

Json SideJson(const RowSide& side) {
  Json json = {{"time", side.time_us},
               {"alg_bw", side.algbw_GBps},
               {"bus_bw", side.busbw_GBps},
               {"nwrong", nullptr}};
  if (side.wrong) json["nwrong"] = static_cast<double>(*side.wrong);
  return json;
}

Json IterationJson(const IterationTimes& times) {
  const IterationStats stats = SummarizeIterations(times);
  Json json = {{"skipped_iterations", times.skipped},
               {"min_us", stats.min_us},
               {"max_us", stats.max_us},
               {"avg_us", stats.avg_us},
               {"p50_us", stats.p50_us},
               {"p95_us", stats.p95_us},
               {"p99_us", stats.p99_us},
               {"stdev_us", stats.stdev_us},
               {"cv_pct", stats.cv_percent},
               {"times_us", times.times_us}};
  if (times.process_times_us.size() > 1) json["per_process_max_times_us"] = times.process_times_us;
  return json;
}

// Adds one placement under `name`, its iterations under `name`_per_iter.
void AddSide(Json& json, const std::string& name, const std::optional<RowSide>& side) {
  json[name] = side ? SideJson(*side) : Json(nullptr);
  if (side && side->iterations) json[name + "_per_iter"] = IterationJson(*side->iterations);
}

Json RowJson(Collective collective, const TableRow& row, const Json& iterations) {
  Json json = {{"size", row.size_bytes},
               {"count", row.count},
               {"type", NcclTestsTypeName(row.type)},
               {"redop", NcclTestsRedopName(collective, row.op)},
               {"root", fmt::format("{:6}", row.root)}};  // the text of the column, blanks too
  AddSide(json, "out_of_place", row.out_of_place);
  AddSide(json, "in_place", row.in_place);
  json["actual_iterations"] = iterations;
  json["experiment_name"] = "";
  return json;
}

// Whether the file was made; false if there is one.
bool Claim(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0) {
    throw EnvironmentError(
        fmt::format("--output_file (-J): {}: {}", path, std::generic_category().message(errno)));
  }
  close(descriptor);
  return true;
}

std::string ClaimFreeName(const std::string& path) {
  std::string name = path;
  for (int i = 0; !Claim(name); ++i) name = fmt::format("{}.{}", path, i);
  return name;
}

}  // namespace

NcclTestsJson::NcclTestsJson(const NcclTestsRun& run, const JsonStart& start)
    : path_(ClaimFreeName(run.options.json_path)),
      collective_(run.collective),
      document_(std::make_unique<Json>()) {
  Json& document = *document_;
  document["version"] = kSchemaVersion;
  document["start_time"] = LocalTimeText(start.time);
  document["args"] = start.arguments;
  document["env"] = RecordedEnvironment(start.environment);
  document["nccl_version"] = nullptr;
  document["config"] = ConfigJson(run);
  document["results"] = Json::array();
  try {
    Write();
  } catch (...) {
    unlink(path_.c_str());  // claimed, still empty
    throw;
  }
}

NcclTestsJson::~NcclTestsJson() = default;
NcclTestsJson::NcclTestsJson(NcclTestsJson&&) noexcept = default;
NcclTestsJson& NcclTestsJson::operator=(NcclTestsJson&&) noexcept = default;

std::string NcclTestsJson::Note() const {
  return fmt::format("# Writing JSON output to {}\n", path_);
}

void NcclTestsJson::Add(const TableRow& row) {
  (*document_)["results"].push_back(
      RowJson(collective_, row, (*document_)["config"]["iterations"]));
  Write();
}

void NcclTestsJson::Finish(const RunTotals& totals, std::optional<double> minimum_busbw,
                           std::span<const std::string> errors,
                           std::chrono::system_clock::time_point time) {
  Json& document = *document_;
  const double average = totals.average_busbw_GBps();
  document["out_of_bounds"] = {{"count", totals.out_of_bounds()},
                               {"okay", Text(totals.out_of_bounds() == 0)}};
  document["average_bus_bandwidth"] = {
      {"bandwidth", average},
      {"okay", minimum_busbw ? Text(!BelowMinimum(average, minimum_busbw)) : "unchecked"}};
  document["errors"] = std::vector<std::string>(errors.begin(), errors.end());
  document["end_time"] = LocalTimeText(time);
  Write();
}

void NcclTestsJson::Write() const {
  // Bytes that are not UTF-8 (a host name, an argument) must not end the run.
  ReplaceFile(path_, document_->dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace hockney
