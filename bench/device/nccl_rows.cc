#include "bench/device/nccl_rows.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "topology/agree.h"
#include "topology/check.h"

namespace hockney {
namespace {

// Text without what RunOnAllOrThrow puts before it: every rank has the same reason.
std::string WithoutRank(const std::string& text) {
  constexpr std::string_view kFirst = "rank 0: ";
  return text.starts_with(kFirst) ? text.substr(kFirst.size()) : text;
}

std::vector<std::string> OrDefault(const std::vector<std::string>& names) {
  return names.empty() ? std::vector<std::string>{""} : names;
}

}  // namespace

void NcclRow::Connect(Session& session, Device& device) {
  baseline.reset();
  try {
    std::optional<NcclLibrary> loaded;
    RunOnAllOrThrow(session, [&] {
      const bool is_told = !choice.algorithm.empty() || !choice.protocol.empty();
      if (is_told && session.kind() == RankKind::kThreads) {
        throw EnvironmentError(
            "NCCL is told by the environment, which ranks that are threads share; processes can");
      }
      if (device.stream() == nullptr) throw EnvironmentError(device.name() + ": no GPU for NCCL");
      loaded = NcclLibrary::Load(library);
    });
    version = loaded->version();
    file = loaded->file();
    baseline = std::make_unique<NcclBaseline>(session, device, *loaded, choice);
  } catch (const EnvironmentError& error) {
    reason = WithoutRank(error.what());
  } catch (const BackendError& error) {
    reason = WithoutRank(error.what());
  }
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
