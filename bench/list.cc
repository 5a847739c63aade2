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
             fmt::format("all, collectives, algorithms, types, ops, implementations or clusters{}",
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
          "all, collectives, algorithms, types, ops, implementations or clusters")
      ->type_name("")
      ->default_str(options->what);
  command.add_flag_callback(
      "--clusters", [options] { options->what = "clusters"; }, "The same as \"clusters\"");
  command.add_flag("--json", options->json, "Print JSON");
  return [options](Launch&) { return Run(*options); };
}

}  // namespace

Command ListCommand() { return {.name = "list", .add = AddList}; }

}  // namespace hockney
