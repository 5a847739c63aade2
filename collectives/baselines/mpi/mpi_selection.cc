#include "collectives/baselines/mpi/mpi_selection.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace hockney {
namespace {

constexpr const char* kUseRules = "coll_tuned_use_dynamic_rules";
constexpr const char* kRulesFile = "coll_tuned_dynamic_rules_filename";

// Components that stand before others by design and pass every call on, or take communicators that
// nobody times here.
constexpr std::string_view kNoRivals[] = {"tuned", "self", "inter",       "sync",   "monitoring",
                                          "cuda",  "demo", "accelerator", "ftagree"};

std::string TunedVariable(Collective collective, std::string_view suffix = "") {
  return fmt::format("coll_tuned_{}_algorithm{}", MpiNameOf(collective), suffix);
}

// MPICH has no names of the values, but its text about the variable lists them, `name - what it
// does` in the order of the values, with line ends removed: what stands before the name is joined
// to it. Returns the longest known name that ends each entry, or "".
std::vector<std::string> NamesInText(std::string_view text, Collective collective) {
  std::vector<std::string> names;
  for (std::size_t at = text.find(" - "); at != std::string_view::npos;
       at = text.find(" - ", at + 1)) {
    std::string_view before = text.substr(0, at);
    before = before.substr(0, before.find_last_not_of(' ') + 1);
    std::string found;
    for (const MpiAlgorithm& algorithm : AllMpiAlgorithms()) {
      if (algorithm.family == MpiFamily::kMpich && algorithm.collective == collective &&
          before.ends_with(algorithm.name) && algorithm.name.size() > found.size()) {
        found = algorithm.name;
      }
    }
    names.push_back(found);
  }
  return names;
}

}  // namespace

void MpiSelection::Allow() {
  constexpr std::string_view kPrefix = "OMPI_MCA_coll_tuned_";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with(kPrefix)) return;
  }
  setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
}

MpiSelection::MpiSelection(const std::string& library)
    : family_(FamilyOf(library)), why_not_(FindWhyNot(library)) {}

std::string MpiSelection::FindWhyNot(const std::string& library) const {
  switch (family_) {
    case MpiFamily::kOpenMpi:
      return WhyNotTuned();
    case MpiFamily::kMpich:
      if (tools_.Int(MpichVariable(Collective::kAllReduce, "INTRA_ALGORITHM"))) return "";
      return library + " has no MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM";
    case MpiFamily::kOther:
      return fmt::format("how {} chooses algorithms is not known", library);
  }
  throw std::logic_error("unknown family");
}

std::string MpiSelection::WhyNotTuned() const {
  const auto uses_rules = tools_.Int(kUseRules);
  if (!uses_rules) return "Open MPI has no component coll/tuned here";
  if (*uses_rules == 0) {
    return fmt::format("parameters of coll/tuned are set, but not {} 1, so nothing else is",
                       kUseRules);
  }
  if (!tools_.Text(kRulesFile).empty()) {
    return fmt::format("{} is set: its rules stand before other choices", kRulesFile);
  }
  constexpr std::string_view kPrefix = "coll_";
  constexpr std::string_view kSuffix = "_priority";
  const int tuned = tools_.Int("coll_tuned_priority").value_or(0);
  for (const std::string& variable : tools_.Variables()) {
    if (!variable.starts_with(kPrefix) || !variable.ends_with(kSuffix)) continue;
    const std::string rival =
        variable.substr(kPrefix.size(), variable.size() - kPrefix.size() - kSuffix.size());
    const bool is_one =
        rival.find('_') == std::string::npos &&
        std::find(std::begin(kNoRivals), std::end(kNoRivals), rival) == std::end(kNoRivals);
    if (is_one && tools_.Int(variable).value_or(0) > tuned) {
      return fmt::format("coll/{} stands before coll/tuned ({})", rival, variable);
    }
  }
  return "";
}

std::vector<std::string> MpiSelection::Names(Collective collective) const {
  std::vector<std::string> names;
  if (MpiNameOf(collective).empty()) return names;
  if (family_ == MpiFamily::kOpenMpi) {
    for (const ToolsInterface::Item& item : tools_.Items(TunedVariable(collective))) {
      if (item.value != 0) names.push_back(item.name);
    }
  } else if (family_ == MpiFamily::kMpich) {
    const std::string text = tools_.Description(MpichVariable(collective, "INTRA_ALGORITHM"));
    names = NamesInText(text, collective);
    std::erase(names, "");
  }
  return names;
}

std::string MpiSelection::WhyNot(ForcedCall call, const std::string& name) const {
  if (!why_not_.empty()) return why_not_;
  const std::vector<std::string> names = Names(call.collective);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return fmt::format("this library has no {} of {}; it has {}", name, MpiNameOf(call.collective),
                       fmt::join(names, ", "));
  }
  if (family_ != MpiFamily::kOpenMpi) return "";
  call.segment_bytes = SettingOf(call.collective, "_segmentsize");
  return WhyOpenMpiRunsAnother(call, name);
}

int MpiSelection::SettingOf(Collective collective, const char* suffix) const {
  return tools_.Int(TunedVariable(collective, suffix)).value_or(0);
}

std::string MpiSelection::Settings(Collective collective, std::string_view name) const {
  if (family_ != MpiFamily::kOpenMpi) return "";
  std::vector<std::string> settings;
  if (name == "chain") {
    settings.push_back(fmt::format("faninout={}", SettingOf(collective, "_chain_fanout")));
  }
  const int segment = SettingOf(collective, "_segmentsize");
  if (segment > 0) settings.push_back(fmt::format("segsize={}", segment));
  return fmt::format("{}", fmt::join(settings, ";"));
}

int MpiSelection::ValueOf(Collective collective, const std::string& name) const {
  if (family_ == MpiFamily::kOpenMpi) {
    for (const ToolsInterface::Item& item : tools_.Items(TunedVariable(collective))) {
      if (item.name == name) return item.value;
    }
  } else {
    const std::string text = tools_.Description(MpichVariable(collective, "INTRA_ALGORITHM"));
    const std::vector<std::string> names = NamesInText(text, collective);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<int>(found - names.begin());
  }
  throw std::invalid_argument(fmt::format("no algorithm {} of {}", name, MpiNameOf(collective)));
}

void MpiSelection::Set(const std::string& variable, int value) const {
  if (!tools_.SetInt(variable, value)) {
    throw std::runtime_error(fmt::format("MPI does not take {} for {}", value, variable));
  }
}

void MpiSelection::Make(Collective collective, const std::string& name,
                        const std::function<void()>& make) const {
  const std::string variable = TunedVariable(collective);
  const int before = tools_.Int(variable).value_or(0);
  Set(variable, ValueOf(collective, name));
  make();
  Set(variable, before);
}

void MpiSelection::Deselect() {
  for (const auto& [variable, value] : selected_) Set(variable, value);
  selected_.clear();
  selected_name_.clear();
}

void MpiSelection::Select(Collective collective, const std::string& name) {
  if (family_ != MpiFamily::kMpich) return;
  if (name == selected_name_ && (name.empty() || collective == selected_collective_)) return;
  Deselect();
  if (name.empty()) return;
  // The device (ch4) has algorithms of its own and would not ask; an algorithm that does not fit
  // would silently be another one.
  const std::pair<std::string, int> wanted[] = {
      {MpichVariable(collective, "DEVICE_COLLECTIVE"), 0},
      {"MPIR_CVAR_COLLECTIVE_FALLBACK", 0},  // error
      {MpichVariable(collective, "INTRA_ALGORITHM"), ValueOf(collective, name)}};
  for (const auto& [variable, value] : wanted) {
    selected_.emplace_back(variable, tools_.Int(variable).value_or(0));
    Set(variable, value);
  }
  selected_collective_ = collective;
  selected_name_ = name;
}

}  // namespace hockney
