#include "bench/earlier_launches.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tuner/records.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// What may not differ between the launches of one folder.
constexpr const char* kSame[] = {"/versions/build_id", "/versions/mpi",      "/rank_count",
                                 "/rank_kind",         "/hosts/0/cpu_model", "/groups"};

}  // namespace

std::uint64_t CountLaunches(const std::filesystem::path& folder) {
  const Json run = ReadRun(folder);
  return run.is_null() ? 0 : run.value("launches", Json::array()).size();
}

Json EarlierLaunches(const std::filesystem::path& folder, const std::string& command,
                     const Json& facts) {
  const Json run = ReadRun(folder);
  if (run.is_null()) {
    if (!std::filesystem::is_directory(folder) || std::filesystem::is_empty(folder))
      return Json::array();
    throw std::invalid_argument(folder.string() +
                                ": has files but no run.json: expected a run, or a new folder");
  }
  if (const std::string theirs = run.value("command", command); theirs != command) {
    throw std::invalid_argument(
        fmt::format("{}: is a run of hockney {}: expected one of hockney {}, or another --out",
                    folder.string(), theirs, command));
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
