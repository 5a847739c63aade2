#include "bench/shaping.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bench/options.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/input_file.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

constexpr const char* kVariable = "HOCKNEY_SHAPING_FILE";
constexpr std::uint64_t kIsolatedBursts = 64;
constexpr std::uint64_t kStreamedBursts = 16;

// Rank 0's file, on every rank; empty without one.
std::string ShareText(Session& session) {
  std::string text;
  RunOnAllOrThrow(session, [&] {
    const char* path = session.rank() == 0 ? std::getenv(kVariable) : nullptr;
    if (path != nullptr) text = ReadInputFile(path) + "\n";  // also an empty file is no JSON
  });
  const auto all = session.AllGather(std::as_bytes(std::span(text)));
  return {reinterpret_cast<const char*>(all[0].data()), all[0].size()};
}

double NumberOr0(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

std::optional<Shaping> ReadShaping(Session& session, nlohmann::ordered_json* json) {
  *json = nullptr;
  const std::string text = ShareText(session);
  if (text.empty()) return std::nullopt;
  *json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json->is_object()) {
    throw Agreed<UsageError>(
        fmt::format("{}: the file it names holds \"{}\", expected a JSON object "
                    "as scripts/virtual_cluster writes it",
                    kVariable, text.substr(0, 40)));
  }
  return Shaping{.goodput_Bps = NumberOr0(*json, "goodput_Bps"),
                 .burst_bytes = static_cast<std::uint64_t>(NumberOr0(*json, "burst_bytes"))};
}

bool IsBurstLimited(const Shaping& shaping, std::uint64_t bytes, bool streamed) {
  return bytes < shaping.burst_bytes * (streamed ? kStreamedBursts : kIsolatedBursts);
}

std::optional<double> NetworkBoundBusbw(Collective collective, int ranks, int hosts,
                                        double goodput_Bps) {
  const auto factor = BusFactor(collective, ranks);
  // As if each host were a rank: what a flat ring of hosts moves through each link is also the
  // least that any algorithm moves through the busiest one.
  const auto host_factor = BusFactor(collective, hosts);
  if (!factor || !host_factor || goodput_Bps <= 0 || ranks % hosts != 0) return std::nullopt;
  double share = *host_factor;
  const bool all_pairs =
      collective == Collective::kAllToAll || collective == Collective::kAllToAllV;
  if (all_pairs)
    share *= static_cast<double>(ranks) / hosts;  // the size column counts one rank's blocks
  return goodput_Bps / 1e9 * *factor / share;
}

}  // namespace hockney
