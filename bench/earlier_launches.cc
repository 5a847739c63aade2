#include "bench/earlier_launches.h"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// What may not differ between the launches of one folder.
constexpr const char* kSame[] = {"/versions/build_id", "/versions/mpi", "/rank_count", "/rank_kind",
                                 "/hosts/0/cpu_model"};

}  // namespace

std::uint64_t CountLaunches(const std::filesystem::path& folder) {
  std::ifstream file(folder / "run.json");
  const Json run = Json::parse(file, nullptr, false);
  return run.is_object() ? run.value("launches", Json::array()).size() : 0;
}

Json EarlierLaunches(const std::filesystem::path& folder, const Json& facts) {
  std::ifstream file(folder / "run.json");
  if (!file) return Json::array();
  const Json run = Json::parse(file, nullptr, false);
  if (!run.is_object()) {
    throw std::invalid_argument((folder / "run.json").string() + ": is not a run's JSON");
  }
  for (const char* place : kSame) {
    const Json::json_pointer pointer(place);
    if (!run.contains(pointer)) continue;
    const Json mine = facts.contains(pointer) ? facts[pointer] : Json();
    if (run[pointer] == mine) continue;
    throw std::invalid_argument(
        fmt::format("{}: its launches have {} = {}, this one has {}: expected launches that can be "
                    "compared, or another --out",
                    folder.string(), place + 1, run[pointer].dump(), mine.dump()));
  }
  return run.value("launches", Json::array());
}

}  // namespace hockney
