#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cluster_rows.h"
#include "bench/commands.h"
#include "bench/implementations.h"
#include "bench/options.h"
#include "bench/text_table.h"
#include "collectives/algorithms.h"
#include "tuner/bandwidth.h"
#include "tuner/training/model_presets.h"
#include "tuner/training/read_model_description.h"
#include "tuner/training/step_times.h"

namespace hockney {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// Numbers that depend on the ranks are shown for so many.
constexpr int kRanksShown = 8;

struct ListOptions {
  std::string what = "all";
  bool json = false;
};

// One part of the answer: for people and as JSON.
// Built-in models of training steps, and the accelerators that time them.
Rows ModelRows() {
  Rows rows = {{"model", "parameters", "tensors", "layers", "hidden", "tokens/sample",
                "forward TFLOP/sample"}};
  for (const std::string& name : ListModelPresets()) {
    const ModelDescription model = ReadModelDescription(name, {});
    const auto& shape = model.transformer;
    double flops = 0;
    for (const ModelUnit& unit : model.units) flops += unit.forward_flops;
    rows.push_back(
        {name, std::to_string(TotalElements(model)), std::to_string(model.parameters.size()),
         shape ? std::to_string(shape->layers) : "-", shape ? std::to_string(shape->hidden) : "-",
         std::to_string(model.tokens_per_sample), fmt::format("{:.4g}", flops / 1e12)});
  }
  return rows;
}

nlohmann::ordered_json ModelJson() {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& name : ListModelPresets()) {
    const ModelDescription model = ReadModelDescription(name, {});
    json.push_back({{"name", name},
                    {"parameters", TotalElements(model)},
                    {"tensors", model.parameters.size()},
                    {"source", model.source}});
  }
  return json;
}

Rows DeviceRows() {
  Rows rows = {{"device", "16-bit TFLOP/s", "float32 TFLOP/s", "memory GB/s", "source"}};
  for (const Accelerator& each : AllAccelerators()) {
    rows.push_back({std::string(each.name), fmt::format("{:g}", each.half_flops / 1e12),
                    fmt::format("{:g}", each.single_flops / 1e12),
                    fmt::format("{:g}", each.memory_Bps / 1e9), std::string(each.source)});
  }
  return rows;
}

nlohmann::ordered_json DeviceJson() {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Accelerator& each : AllAccelerators()) {
    json.push_back({{"name", each.name},
                    {"half_flops", each.half_flops},
                    {"single_flops", each.single_flops},
                    {"memory_Bps", each.memory_Bps},
                    {"source", each.source}});
  }
  return json;
}

struct Part {
  const char* name;
  Rows (*rows)();
  nlohmann::ordered_json (*json)();
};

std::string YesNo(bool value) { return value ? "yes" : "no"; }

Rows CollectiveRows() {
  Rows rows = {
      {"collective", "reduces", "root", fmt::format("busbw/algbw ({} ranks)", kRanksShown)}};
  for (const Collective each : kAllCollectives) {
    const auto factor = BusFactor(each, kRanksShown);
    rows.push_back({std::string(Name(each)), YesNo(Reduces(each)), YesNo(HasRoot(each)),
                    factor ? fmt::format("{:.3f}", *factor) : "-"});
  }
  return rows;
}

nlohmann::ordered_json CollectiveJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Collective each : kAllCollectives) {
    list.push_back({{"name", Name(each)}, {"reduces", Reduces(each)}, {"root", HasRoot(each)}});
  }
  return list;
}

// What the busiest rank moves, over the size; hierarchical: on one node.
double BusiestFraction(const Algorithm& row) {
  double most = 0;
  for (int rank = 0; rank < kRanksShown; ++rank) {
    const Shape shape{.collective = row.collective, .ranks = kRanksShown};
    most = std::max(most, row.wire_fraction(shape, rank, Parameters{}));
  }
  return most;
}

Rows AlgorithmRows() {
  Rows rows = {{"collective", "algorithm", "protocols", "peer memory", "pieces", "equal blocks",
                fmt::format("bytes/size ({} ranks)", kRanksShown)}};
  for (const Algorithm& row : AllAlgorithms()) {
    rows.push_back({std::string(Name(row.collective)), std::string(row.name),
                    row.has_ll ? "simple, ll" : "simple", YesNo(row.simple_uses_peer_memory),
                    YesNo(row.uses_pieces), YesNo(row.equal_blocks),
                    fmt::format("{:.3f}", BusiestFraction(row))});
  }
  return rows;
}

nlohmann::ordered_json AlgorithmJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Algorithm& row : AllAlgorithms()) {
    std::vector<std::string> protocols = {"simple"};
    if (row.has_ll) protocols.emplace_back("ll");
    list.push_back({{"collective", Name(row.collective)},
                    {"algorithm", row.name},
                    {"protocols", protocols},
                    {"peer_memory", row.simple_uses_peer_memory},
                    {"pieces", row.uses_pieces},
                    {"equal_blocks", row.equal_blocks}});
  }
  return list;
}

Rows TypeRows() {
  Rows rows = {{"type", "bytes", "added up in"}};
  for (const DataType each : kAllDataTypes) {
    const bool small_float = IsFloat(each) && ElementBytes(each) < 4;
    rows.push_back({std::string(Name(each)), std::to_string(ElementBytes(each)),
                    std::string(Name(small_float ? DataType::kFloat32 : each))});
  }
  return rows;
}

nlohmann::ordered_json TypeJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DataType each : kAllDataTypes) {
    list.push_back({{"name", Name(each)}, {"bytes", ElementBytes(each)}, {"float", IsFloat(each)}});
  }
  return list;
}

Rows OpRows() {
  Rows rows = {{"op"}};
  for (const ReduceOp each : kAllReduceOps) rows.push_back({std::string(Name(each))});
  return rows;
}

nlohmann::ordered_json OpJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ReduceOp each : kAllReduceOps) list.push_back({{"name", Name(each)}});
  return list;
}

Rows ImplementationRows() {
  Rows rows = {{"implementation", "built", "runs"}};
  for (const Implementation& each : AllImplementations()) {
    rows.push_back({each.name, YesNo(each.built), each.note});
  }
  return rows;
}

nlohmann::ordered_json ImplementationJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Implementation& each : AllImplementations()) {
    list.push_back({{"name", each.name}, {"built", each.built}, {"note", each.note}});
  }
  return list;
}

constexpr Part kParts[] = {
    {"collectives", CollectiveRows, CollectiveJson},
    {"algorithms", AlgorithmRows, AlgorithmJson},
    {"types", TypeRows, TypeJson},
    {"ops", OpRows, OpJson},
    {"implementations", ImplementationRows, ImplementationJson},
    {"clusters", ClusterRows, ClusterJson},
    {"models", ModelRows, ModelJson},
    {"devices", DeviceRows, DeviceJson},
};

int Run(const ListOptions& options) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  std::string text;
  for (const Part& part : kParts) {
    if (options.what != "all" && options.what != part.name) continue;
    if (options.json) {
      all[part.name] = part.json();
    } else {
      text += (text.empty() ? "" : "\n") + FormatTable(part.rows());
    }
  }
  fmt::print("{}", options.json ? all.dump(2) + "\n" : text);
  return 0;
}

void CheckWhat(const std::string& text) {
  std::vector<std::string_view> names = {"all"};
  for (const Part& part : kParts) names.emplace_back(part.name);
  if (std::find(names.begin(), names.end(), text) != names.end()) return;
  const auto close = Suggest(text, names);
  FailOption("what to list", text,
             fmt::format("all, collectives, algorithms, types, ops, implementations, clusters, "
                         "models or devices{}",
                         close ? fmt::format("; did you mean \"{}\"?", *close) : ""));
}

Runner AddList(CLI::App& program) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App& command = *program.add_subcommand("list", "Show what is compiled in");
  command.footer(
      "clusters: presets for predictions; rates in one direction, NICs' each; the source of every\n"
      "number is in --json clusters\n"
      "peer memory: with protocol simple it reads and writes other ranks' buffers, so one host "
      "only\n"
      "bytes/size: what the busiest rank moves to and from others, over the size column\n"
      "Example: hockney list algorithms");
  command
      .add_option_function<std::string>(
          "what",
          [options](const std::string& text) {
            CheckWhat(text);
            options->what = text;
          },
          "all, collectives, algorithms, types, ops, implementations, clusters, models or devices")
      ->type_name("")
      ->default_str(options->what);
  command.add_flag_callback(
      "--clusters", [options] { options->what = "clusters"; }, "The same as \"clusters\"");
  command.add_flag_callback(
      "--models", [options] { options->what = "models"; }, "The same as \"models\"");
  command.add_flag("--json", options->json, "Print JSON");
  return [options](Launch&) { return Run(*options); };
}

}  // namespace

Command ListCommand() { return {.name = "list", .add = AddList}; }

}  // namespace hockney
