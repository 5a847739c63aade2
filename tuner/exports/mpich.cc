#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cctype>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tuner/exports/exports.h"
#include "tuner/exports/mpi_rules.h"
#include "tuner/exports/mpich_selection.h"

namespace hockney {
namespace {

// MPICH asks the keys of an object in their order and never comes back from one it has entered.
using Json = nlohmann::ordered_json;

constexpr const char* kGeneralFile = "mpich_coll.json";
constexpr const char* kDeviceFile = "mpich_ch4.json";
constexpr const char* kIntra = "comm_type=intra";
constexpr std::uint64_t kMostKey = std::numeric_limits<std::int32_t>::max();  // read by atoi

// How MPICH measures a message of the collective in a selection file. It ends where a file asks
// for a measure that it has not: avg_msg_size is known to few collectives.
struct Measure {
  const char* key = nullptr;     // null: no size is asked, one algorithm counts for all
  std::uint64_t unit_bytes = 1;  // of the size column, that the key counts
};

Measure MeasureOf(const MpiRules& table) {
  switch (table.collective) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return {"avg_msg_size"};
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return {"total_msg_size"};
    case Collective::kGather:
    case Collective::kScatter: {  // all elements together: MPICH forgets their size
      DataType type = DataType::kFloat32;
      if (!table.dtype.empty()) type = ParseDataType(table.dtype).value_or(type);
      return {"total_msg_size", ElementBytes(type)};
    }
    case Collective::kAllToAllV:  // differs between ranks
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return {};
  }
  throw std::invalid_argument("unknown collective");
}

std::string LeafOf(Collective collective, const std::string& algorithm) {
  std::string name(MpiNameOf(collective));
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  const char* form = algorithm == "nb" ? "allcomm" : "intra";
  return fmt::format("algorithm=MPIR_{}_{}_{}", name, form, algorithm);
}

// Algorithms of 4.1 and later need parameters of their own in a file.
bool HasPlainLeaf(Collective collective, const std::string& algorithm) {
  for (const char* later : {"tree", "recexch", "k_", "pipelined"}) {
    if (algorithm.starts_with(later)) return false;
  }
  return collective != Collective::kAllReduce || algorithm != "ring";
}

// Wraps a leaf into what its algorithm needs beside the measured ranks and bytes; MPICH does not
// look again, so other calls of that size keep `otherwise`, its own choice.
Json Guard(Collective collective, const std::string& algorithm, Json leaf, const Json& otherwise) {
  if (algorithm == "nb") return leaf;
  if (algorithm == "smp") {
    leaf = Json{{"comm_hierarchy=parent", leaf}, {"comm_hierarchy=any", otherwise}};
  }
  const bool by_halves = algorithm.starts_with("reduce_scatter_");
  const bool reduces = collective == Collective::kAllReduce || collective == Collective::kReduce;
  if (reduces && by_halves) {
    leaf = Json{{"count<pow2", otherwise}, {"count=any", leaf}};
    return Json{{"is_op_built_in=yes", leaf}, {"is_op_built_in=no", otherwise}};
  }
  const bool commutes = (reduces && algorithm == "smp") ||
                        (collective == Collective::kReduceScatter &&
                         (algorithm == "pairwise" || algorithm == "recursive_halving"));
  if (commutes) return Json{{"is_commutative=yes", leaf}, {"is_commutative=no", otherwise}};
  if (collective == Collective::kAllToAll || collective == Collective::kAllToAllV) {
    return Json{{"is_sendbuf_inplace=yes", otherwise}, {"is_sendbuf_inplace=no", leaf}};
  }
  return leaf;
}

// What a rule becomes: makes the subtree of an algorithm, null for one that cannot be written.
using MakeLeaf = Json (*)(Collective, const std::string&, const Json& otherwise);

Json GeneralLeaf(Collective collective, const std::string& algorithm, const Json& otherwise) {
  if (!HasPlainLeaf(collective, algorithm)) return nullptr;
  return Guard(collective, algorithm, Json{{LeafOf(collective, algorithm), Json::object()}},
               otherwise);
}

// The composition of ch4 in 4.0 that hands the call on as it is; null for collectives that have no
// other one.
const char* PassOn(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "composition=MPIDI_Allreduce_intra_composition_beta";
    case Collective::kBroadcast:
      return "composition=MPIDI_Bcast_intra_composition_gamma";
    case Collective::kReduce:
      return "composition=MPIDI_Reduce_intra_composition_gamma";
    case Collective::kBarrier:
      return "composition=MPIDI_Barrier_intra_composition_beta";
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kSendRecv:
      return nullptr;
  }
  throw std::invalid_argument("unknown collective");
}

Json DeviceLeaf(Collective collective, const std::string& algorithm, const Json& /*otherwise*/) {
  if (!HasPlainLeaf(collective, algorithm)) return nullptr;
  return Json{{PassOn(collective), Json::object()}};
}

// Builds the subtree of the rules of one number of ranks.
class SizeTree {
 public:
  SizeTree(const MpiRules& table, const Json& otherwise, MakeLeaf make_leaf,
           std::vector<std::string>* notes)
      : table_(table), otherwise_(otherwise), make_leaf_(make_leaf), notes_(notes) {}

  Json Make() const {
    const Measure measure = MeasureOf(table_);
    if (measure.key == nullptr && table_.rules.size() > 1) {
      Note("MPICH takes one algorithm for all sizes");
      return otherwise_;
    }
    if (table_.rules.size() == 1) return Leaf(table_.rules[0]);
    Json tree = Json::object();
    for (std::size_t i = 0; i < table_.rules.size(); ++i) {
      const bool is_last = i + 1 == table_.rules.size();
      // The largest size of the rule, in whole units of the key.
      const std::uint64_t most =
          is_last ? 0 : (table_.rules[i + 1].min_bytes - 1) / measure.unit_bytes;
      if (is_last || most > kMostKey) {
        if (!is_last) {
          Note(fmt::format("MPICH knows no sizes above 2^31-1: rules from {} bytes on",
                           table_.rules[i + 1].min_bytes));
        }
        tree[fmt::format("{}=any", measure.key)] = Leaf(table_.rules[i]);
        break;
      }
      tree[fmt::format("{}<={}", measure.key, most)] = Leaf(table_.rules[i]);
    }
    return tree;
  }

 private:
  Json Leaf(const MpiRule& rule) const {
    if (rule.algorithm.empty()) return otherwise_;
    Json leaf = make_leaf_(table_.collective, rule.algorithm, otherwise_);
    if (!leaf.is_null()) return leaf;
    Note(fmt::format("{} needs parameters that were not measured", rule.algorithm));
    return otherwise_;
  }

  void Note(const std::string& why) const {
    if (notes_ == nullptr) return;
    notes_->push_back(
        fmt::format("left out: {} of {} ranks: {}", Name(table_.collective), table_.ranks, why));
  }

  const MpiRules& table_;
  const Json& otherwise_;
  MakeLeaf make_leaf_;
  std::vector<std::string>* notes_;  // null: said already
};

// Puts the tables of one collective (by ranks) into a selection; false if it does not know the
// collective.
bool Graft(Json& selection, const std::vector<const MpiRules*>& tables, MakeLeaf make_leaf,
           std::vector<std::string>* notes) {
  const std::string key = fmt::format("collective={}", MpiNameOf(tables[0]->collective));
  if (!selection.contains(key) || !selection[key].contains(kIntra)) return false;
  const Json own = selection[key][kIntra];
  Json by_ranks = Json::object();
  std::int64_t done = 0;  // ranks that have a key
  for (const MpiRules* table : tables) {
    if (table->ranks - 1 > done) by_ranks[fmt::format("comm_size<={}", table->ranks - 1)] = own;
    by_ranks[fmt::format("comm_size<={}", table->ranks)] =
        SizeTree(*table, own, make_leaf, notes).Make();
    done = table->ranks;
  }
  by_ranks["comm_size=any"] = own;
  selection[key][kIntra] = std::move(by_ranks);
  return true;
}

Json ParseSelection(const std::string& text) {
  return text.empty() ? Json() : Json::parse(text, nullptr, false);
}

}  // namespace

Exported ExportMpich(const Tuning& tuning, const MpichSelection& selection) {
  Exported result;
  const MpiTuning found = CollectMpiRules(tuning, MpiFamily::kMpich);
  if (found.tables.empty()) {
    result.notes.push_back("MPICH: no rule was measured with it");
    return result;
  }
  Json general = ParseSelection(selection.general);
  if (!general.is_object()) {
    result.notes.push_back(
        "MPICH: a file must hold the choice of every collective, and libmpich.so, which has "
        "MPICH's own, was not found; export where MPICH is, or name its folder in LD_LIBRARY_PATH");
    return result;
  }
  result.notes = found.notes;
  // Compositions differ between versions.
  Json device = found.library.starts_with("MPICH 4.0") ? ParseSelection(selection.device) : Json();
  std::map<Collective, std::vector<const MpiRules*>> by_collective;
  for (const MpiRules& table : found.tables) by_collective[table.collective].push_back(&table);
  std::string settings;
  for (const auto& [collective, tables] : by_collective) {
    if (!Graft(general, tables, GeneralLeaf, &result.notes)) {
      result.notes.push_back(
          fmt::format("left out: {}: this MPICH has no choice of it", Name(collective)));
    } else if (device.is_object()) {
      if (PassOn(collective) != nullptr) Graft(device, tables, DeviceLeaf, nullptr);
    } else {
      settings += fmt::format(" {}=0", MpichVariable(collective, "DEVICE_COLLECTIVE"));
    }
  }
  constexpr int kIndent = 1;
  result.files.push_back({kGeneralFile, general.dump(kIndent) + "\n"});
  if (device.is_object()) {
    result.files.push_back({kDeviceFile, device.dump(kIndent) + "\n"});
    settings = fmt::format(" MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE={}", kDeviceFile);
  }
  result.notes.insert(result.notes.begin(),
                      fmt::format("MPICH ({}, on the choice of {}): set "
                                  "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={}{}",
                                  found.library, selection.source, kGeneralFile, settings));
  return result;
}

Exported ExportMpich(const Tuning& tuning) { return ExportMpich(tuning, ReadMpichSelection()); }

}  // namespace hockney
