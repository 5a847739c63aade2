#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/commands.h"
#include "bench/exit_codes.h"
#include "bench/launch.h"
#include "bench/nccl_anchors.h"
#include "bench/options.h"
#include "bench/simulate_tables.h"
#include "bench/sizes.h"
#include "bench/text_table.h"
#include "collectives/levels.h"
#include "topology/check.h"
#include "topology/cluster_preset.h"
#include "tuner/bandwidth.h"
#include "tuner/nccl/cost_model.h"
#include "tuner/nccl/predict.h"
#include "tuner/records.h"
#include "tuner/records/line_file.h"
#include "tuner/simulate/machine_of_model.h"
#include "tuner/simulate/machine_of_preset.h"

namespace hockney {
namespace {

constexpr int kMostLanes = 64;
constexpr int kMostSimulatedRanks = 16384;

struct Texts {
  std::vector<std::string> collectives = {"all_reduce"};
  std::string model;
  std::string cluster;
  std::string ranks;
  std::string nodes;
  std::string nodes_per_rack = "0";
  std::string begin = "1K";
  std::string end = "1G";
  std::string factor;
  std::string increment;
  std::string type = "float32";
  std::string algorithms = "usual";
  std::string protocol = "simple";
  std::string lanes = "1";
  std::string slices = "2";
  std::string mode = "isolated";
  std::string as = "hockney";
  std::vector<std::string> compare;
  std::string gate = "512K";
  std::string trace;
  bool compares = false;
  bool critical_path = false;
  bool full = false;
  bool json = false;
};

int Ranks(const Texts& texts) {
  if (texts.ranks.empty()) throw UsageError("--ranks (--gpus): expected how many to simulate");
  const std::uint64_t ranks = ParseCount("--ranks (--gpus)", texts.ranks, 1);
  if (ranks > kMostSimulatedRanks && texts.as == "hockney") {
    FailOption("--ranks (--gpus)", texts.ranks, fmt::format("at most {}", kMostSimulatedRanks));
  }
  return static_cast<int>(ranks);
}

SimMachine MachineOf(const Texts& texts, int ranks) {
  if (texts.model.empty() == texts.cluster.empty()) {
    throw UsageError("--model, --cluster: expected one of them: what the machine is");
  }
  if (!texts.cluster.empty()) return MachineOfPreset(FindClusterPreset(texts.cluster), ranks);
  const std::uint64_t nodes = texts.nodes.empty() ? 1 : ParseCount("--nodes", texts.nodes, 1);
  const std::uint64_t rack = ParseCount("--nodes-per-rack", texts.nodes_per_rack);
  if (nodes > static_cast<std::uint64_t>(ranks)) {
    FailOption("--nodes", texts.nodes, fmt::format("at most as many as ranks, {}", ranks));
  }
  try {
    return MachineOfModel(ReadModel(texts.model),
                          BlockPlacement(ranks, static_cast<int>(nodes), static_cast<int>(rack)));
  } catch (const std::invalid_argument& reason) {
    throw InputError(texts.model + ": " + reason.what());
  }
}

// What is tried where nobody says: the hierarchies that suit several nodes, else the flat ones.
std::vector<std::string> UsualAlgorithms(Collective collective, Protocol protocol,
                                         const RankPlacement& placement) {
  std::vector<std::string> names;
  const bool several = placement.node_of_rank.back() > 0;
  if (several && FindAlgorithm(collective, kHierarchical) != nullptr) {
    for (const Levels& levels : UsualLevels(collective, protocol, &placement)) {
      names.push_back(NameOf(levels));
    }
  }
  for (const Algorithm& row : AllAlgorithms()) {
    const bool fits = row.collective == collective && row.name != kHierarchical &&
                      (!several || !row.simple_uses_peer_memory) && row.name != "naive_root" &&
                      (protocol != Protocol::kLl || row.has_ll);
    if (fits && names.empty()) names.emplace_back(row.name);
    if (fits && !several && names.back() != row.name) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> AlgorithmsOf(const Texts& texts, Collective collective,
                                      const SimMachine& machine) {
  if (texts.algorithms == "usual") {
    return UsualAlgorithms(collective, texts.protocol == "ll" ? Protocol::kLl : Protocol::kSimple,
                           machine.placement);
  }
  std::vector<std::string_view> known;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective == collective) known.push_back(row.name);
  }
  return ParseAlgorithms("--algorithm", texts.algorithms, known);
}

SimRequest RequestOf(const Texts& texts, Collective collective, std::string algorithm) {
  SimRequest request;
  constexpr std::string_view kProtocols[] = {"simple", "ll"};
  request.parameters.protocol = ParseChoice("--protocol", texts.protocol, kProtocols) == 1
                                    ? Protocol::kLl
                                    : Protocol::kSimple;
  request.parameters.lanes = ParseInts("--lanes", texts.lanes, kMostLanes).at(0);
  request.parameters.slices = ParseInts("--slices", texts.slices, request.limits.slots - 1).at(0);
  if (HasLevels(algorithm)) {
    CheckLevels("--algorithm", algorithm, collective);
    request.parameters.levels = ParseLevels(algorithm);
    algorithm = kHierarchical;
  }
  request.row = FindAlgorithm(collective, algorithm);
  request.type = ParseDataTypes("--datatype (-d)", texts.type).at(0);
  return request;
}

bool IsStreamed(const Texts& texts) {
  constexpr std::string_view kModes[] = {"isolated", "streamed"};
  return ParseChoice("--mode", texts.mode, kModes) == 1;
}

class SimulateRun {
 public:
  SimulateRun(const Texts& texts, int ranks)
      : texts_(texts), ranks_(ranks), machine_(MachineOf(texts, ranks)) {
    options_.refill_seconds = IsStreamed(texts) ? 0 : IsolatedRefillSeconds(machine_);
    options_.repeats = true;
    options_.collapse = options_.extrapolate = !texts.full;
  }

  const SimMachine& machine() const { return machine_; }

  void Add(Collective collective, const std::string& algorithm, std::uint64_t size) {
    SimRequest request = RequestOf(texts_, collective, algorithm);
    const std::uint64_t count =
        std::max<std::uint64_t>(1, CountForSize(collective, size, request.type, ranks_));
    request.counts = EvenCounts({collective, ranks_, 0}, count);
    SimulatedRow& row = rows_.emplace_back();
    row.collective = collective;
    row.size_bytes = SizeBytes(collective, count, request.type, ranks_);
    row.ranks = ranks_;
    row.algorithm = algorithm;
    row.protocol = texts_.protocol;
    try {
      if (request.row->simple_uses_peer_memory && machine_.placement.node_of_rank.back() > 0) {
        throw std::invalid_argument("reads peers' memory: one node only");
      }
      const Simulation simulation(request, machine_, options_);
      row.result = simulation.Run();
      if (rows_.size() == 1) Trace(simulation);
    } catch (const std::invalid_argument& reason) {
      row.reason = reason.what();
    }
  }

  void Print() const {
    if (texts_.json) {
      fmt::print("{}", SimulatedJson(rows_));
      return;
    }
    fmt::print("{}{}", SimulatedTable(rows_), path_text_);
    if (!texts_.trace.empty()) fmt::print("trace: {}\n", texts_.trace);
  }

 private:
  // Of the first row.
  void Trace(const Simulation& simulation) {
    if (texts_.trace.empty() && !texts_.critical_path) return;
    std::vector<SliceRecord> records;
    simulation.Trace(&records);
    const auto lanes = simulation.LaneNames();
    if (!texts_.trace.empty()) ReplaceFile(texts_.trace, ChromeTrace(records, lanes));
    if (texts_.critical_path) path_text_ = CriticalPathText(CriticalPath(records), lanes);
  }

  const Texts& texts_;
  int ranks_;
  SimMachine machine_;
  SimOptions options_;
  std::vector<SimulatedRow> rows_;
  std::string path_text_;
};

std::vector<std::uint64_t> SizesOf(const Texts& texts) {
  const auto step = [](const char* option, const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(ParseSize(option, text));
  };
  return SizeList(ParseSize("--minbytes (-b)", texts.begin),
                  ParseSize("--maxbytes (-e)", texts.end), step("--stepfactor (-f)", texts.factor),
                  step("--stepbytes (-i)", texts.increment));
}

// Every collective that was asked for, at every size.
template <class Visit>
void ForEachCell(const Texts& texts, Visit visit) {
  for (const std::string& text : texts.collectives) {
    for (const Collective collective : ParseCollectives("collectives", text)) {
      for (const std::uint64_t size : SizesOf(texts)) visit(collective, size);
    }
  }
}

void PrintAsNccl(const Texts& texts, int ranks) {
  if (texts.cluster.empty()) throw UsageError("--as: expected --cluster with it: a preset or file");
  const ClusterPreset preset = FindClusterPreset(texts.cluster);
  std::vector<std::vector<std::string>> table = {
      {"collective", "size", "time_us", "busbw", "algorithm", "protocol", "channels", "bound"}};
  ForEachCell(texts, [&](Collective collective, std::uint64_t size) {
    try {
      const nccl::Prediction found =
          nccl::Predict(preset, {.collective = collective, .ranks = ranks, .bytes = size});
      const auto factor = BusFactor(collective, ranks);
      table.push_back(
          {std::string(Name(collective)), FormatSize(size), fmt::format("{:.2f}", found.time_us()),
           factor ? fmt::format("{:.2f}", *factor * RateGBps(size, found.time_us())) : "-",
           std::string(nccl::Name(found.algorithm)), std::string(nccl::Name(found.protocol)),
           std::to_string(found.channels), found.bound});
    } catch (const std::invalid_argument& reason) {
      throw UsageError(fmt::format("--as {}: {}", texts.as, reason.what()));
    }
  });
  fmt::print("{}Predicted, not measured: NCCL's own shapes and constants on the parts of {}\n",
             FormatTable(table), preset.name);
  if (texts.as != "nccl") fmt::print("{}: not validated, these are NCCL's shapes\n", texts.as);
}

int Compare(const Texts& texts) {
  if (texts.as == "nccl") {
    fmt::print("{}", NcclAnchorTable());
    return ToInt(ExitCode::kOk);
  }
  // CLI11 stands an empty text for an option without values.
  const bool has_runs = !texts.compare.empty() && !texts.compare[0].empty();
  if (texts.model.empty() || !has_runs) {
    throw UsageError("--compare: expected --model FILE and --compare RUN, or --as nccl");
  }
  const std::uint64_t gate = ParseSize("--gate", texts.gate);
  const int rack = static_cast<int>(ParseCount("--nodes-per-rack", texts.nodes_per_rack));
  std::vector<SweepRow> rows;
  for (const std::string& run : texts.compare) {
    const std::vector<SweepRow> more = ReadSweep(run);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  const PredictionReport report = PredictRows(ReadModel(texts.model), rows, rack, gate);
  fmt::print("{}", PredictionTable(report, gate));
  return ToInt(ExitCode::kOk);
}

int Run(const Texts& texts) {
  constexpr std::string_view kStacks[] = {"hockney", "nccl", "rccl", "msccl", "oneccl"};
  ParseChoice("--as", texts.as, kStacks);
  if (texts.compares) return Compare(texts);
  const int ranks = Ranks(texts);
  if (texts.as != "hockney") {
    PrintAsNccl(texts, ranks);
    return ToInt(ExitCode::kOk);
  }
  SimulateRun run(texts, ranks);
  ForEachCell(texts, [&](Collective collective, std::uint64_t size) {
    for (const std::string& algorithm : AlgorithmsOf(texts, collective, run.machine())) {
      run.Add(collective, algorithm, size);
    }
  });
  run.Print();
  return ToInt(ExitCode::kOk);
}

Runner AddSimulate(CLI::App& program) {
  const auto texts = std::make_shared<Texts>();
  CLI::App& command = *program.add_subcommand(
      "simulate", "Predict collectives on a fitted or a described machine, to thousands of ranks");
  Texts& t = *texts;
  command.add_option("collectives", t.collectives, "Collectives, comma-separated")
      ->capture_default_str();
  command.add_option("--model", t.model,
                     "model.json of hockney fit: the machine that was measured");
  command.add_option("--cluster", t.cluster, "A preset (hockney list --clusters) or its JSON file");
  command.add_option("--ranks,--gpus", t.ranks, "Ranks to simulate");
  command.add_option("--nodes", t.nodes, "Nodes they are on, with --model (default 1)");
  command.add_option("--nodes-per-rack", t.nodes_per_rack, "With --model; 0: racks do not matter")
      ->capture_default_str();
  command.add_option("-b,--minbytes", t.begin, "Smallest size")->capture_default_str();
  command.add_option("-e,--maxbytes", t.end, "Largest size")->capture_default_str();
  command.add_option("-f,--stepfactor", t.factor, "Factor between sizes (default 2)");
  command.add_option("-i,--stepbytes", t.increment, "Fixed increment between sizes instead");
  command.add_option("-d,--datatype", t.type, "Type")->capture_default_str();
  command.add_option("--algorithm", t.algorithms, "Names as of hockney list, all, or usual")
      ->capture_default_str();
  command.add_option("--protocol", t.protocol, "simple or ll")->capture_default_str();
  command.add_option("--lanes", t.lanes, "Data lanes")->capture_default_str();
  command.add_option("--slices", t.slices, "Slices a chunk")->capture_default_str();
  command
      .add_option("--mode", t.mode,
                  "isolated: a barrier goes before each call; streamed: none, so that shapers' "
                  "buckets are empty")
      ->capture_default_str();
  command.add_option("--as", t.as, "hockney: its own programs; nccl: NCCL's shapes on a --cluster")
      ->capture_default_str();
  CLI::Option* compare = command.add_option(
      "--compare", t.compare,
      "Run folders whose rows to predict with --model; with --as nccl published figures instead");
  compare->expected(0, -1);
  command.add_option("--gate", t.gate, "Sizes from here on count for --compare's errors")
      ->capture_default_str();
  command.add_option("--trace", t.trace, "Write the first row as a Chrome trace to this file");
  command.add_flag("--critical-path", t.critical_path, "What decided the first row's time");
  command.add_flag("--full", t.full, "Simulate every rank and every piece");
  command.add_flag("--json", t.json, "JSON instead of a table");
  command.footer("Example: hockney simulate all_reduce --cluster h100 --gpus 16384 -b 1K -e 8G");
  return [texts, compare](const Launch& launch) {
    if (launch.rank() != 0) return ToInt(ExitCode::kOk);
    texts->compares = compare->count() > 0;
    return Run(*texts);
  };
}

}  // namespace

Command SimulateCommand() { return {.name = "simulate", .add = AddSimulate}; }

}  // namespace hockney
