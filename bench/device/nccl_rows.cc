#include "bench/device/nccl_rows.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "topology/check.h"
#include "topology/gather_json.h"

namespace hockney {
namespace {

std::vector<std::string> OrDefault(const std::vector<std::string>& names) {
  return names.empty() ? std::vector<std::string>{""} : names;
}

}  // namespace

std::string FirstReason(Session& session, const std::string& mine) {
  for (const auto& theirs : GatherJson(session, nlohmann::ordered_json(mine))) {
    auto text = theirs.get<std::string>();
    if (!text.empty()) return text;
  }
  return "";
}

// One that some rank cannot have is nobody's.
void NcclRow::Connect(Session& session, Device& device) {
  if (baseline != nullptr) baseline->Abandon();
  baseline.reset();
  std::optional<NcclLibrary> loaded;
  std::string mine;
  try {
    const bool by_environment = !choice.algorithm.empty() || !choice.protocol.empty();
    if (by_environment && session.kind() == RankKind::kThreads) {
      throw EnvironmentError(
          "NCCL is told by the environment, which ranks that are threads share; processes can");
    }
    if (device.stream() == nullptr) throw EnvironmentError(device.name() + ": no GPU for NCCL");
    loaded = NcclLibrary::Load(library);
    version = loaded->version();
    file = loaded->file();
  } catch (const std::exception& error) {
    mine = error.what();
  }
  reason = FirstReason(session, mine);
  if (reason.empty()) {
    const auto versions = GatherJson(session, nlohmann::ordered_json(version));
    const bool alike = std::all_of(versions.begin(), versions.end(),
                                   [&](const auto& theirs) { return theirs == versions[0]; });
    if (!alike) reason = "the ranks found NCCLs of different versions";
  }
  if (!reason.empty()) return;
  try {
    baseline = std::make_unique<NcclBaseline>(session, device, *loaded, choice);
  } catch (const std::exception& error) {
    mine = error.what();
  }
  reason = FirstReason(session, mine);
  if (reason.empty()) return;
  if (baseline != nullptr) baseline->Abandon();
  baseline.reset();
}

std::vector<NcclRow> MakeNcclRows(Session& session, Device& device, const SweepOptions& options) {
  const std::vector<int> channels =
      options.nccl_channels.empty() ? std::vector<int>{0} : options.nccl_channels;
  std::vector<NcclRow> rows;
  for (const std::string& path : options.nccl_libraries) {
    for (const std::string& algorithm : OrDefault(options.nccl_algorithms)) {
      for (const std::string& protocol : OrDefault(options.nccl_protocols)) {
        for (const int count : channels) {
          rows.push_back({.library = path, .choice = {algorithm, protocol, count}});
          rows.back().Connect(session, device);
        }
      }
    }
  }
  return rows;
}

nlohmann::ordered_json NcclFacts(const std::vector<NcclRow>& rows) {
  nlohmann::ordered_json facts = nlohmann::ordered_json::array();
  for (const NcclRow& row : rows) {
    facts.push_back({{"library", row.library},
                     {"file", row.file},
                     {"version", row.version},
                     {"algorithm", row.choice.algorithm},
                     {"protocol", row.choice.protocol},
                     {"channels", row.choice.channels},
                     {"reason", row.reason}});
  }
  return facts;
}

}  // namespace hockney
