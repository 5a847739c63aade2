#include "bench/read_peer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/sizes.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kNames[] = {"open_mpi_default", "open_mpi_ring",
                                       "open_mpi_no_single_copy", "mpich"};

// What mpirun sets itself in every launch; the others somebody asked for.
constexpr std::string_view kSetByLauncher[] = {"OMPI_MCA_ess", "OMPI_MCA_mpi_oversubscribe",
                                               "OMPI_MCA_pmix",
                                               "OMPI_MCA_shmem_RUNTIME_QUERY_hint"};

std::vector<std::string> ReadLines(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// The value at a JSON pointer as text: null and missing are "unknown".
std::string Text(const Json& run, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!run.contains(at) || run.at(at).is_null()) return "unknown";
  const Json& value = run.at(at);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

std::string AskedFor(const Json& run) {
  std::vector<std::string> settings;
  const Json environment = run.value("environment", Json::object());
  for (const auto& [name, value] : environment.items()) {
    const auto* const known = std::find(std::begin(kSetByLauncher), std::end(kSetByLauncher), name);
    if (known != std::end(kSetByLauncher)) continue;
    settings.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{}", fmt::join(settings, " "));
}

std::string Ranks(const Json& run) {
  std::vector<std::string> cpus;
  std::vector<std::string> by;
  const Json ranks = run.value("ranks", Json::array());
  for (const Json& rank : ranks) {
    cpus.push_back(Text(rank, "/cpus"));
    const std::string who = Text(rank, "/pinned_by");
    if (std::find(by.begin(), by.end(), who) == by.end()) by.push_back(who);
  }
  return fmt::format("{} on CPUs {}, pinned by {}", ranks.size(), fmt::join(cpus, " and "),
                     fmt::join(by, " and "));
}

std::string Machine(const Json& run) {
  const Json cache = run.value("/last_level_cache/bytes"_json_pointer, Json());
  return fmt::format(
      "hockney {}, {}, {}, kernels {}; {} cores of {}, Linux {}, pages of {} KiB, last-level "
      "cache taken as {} bytes",
      Text(run, "/versions/hockney"), Text(run, "/versions/compiler"),
      Text(run, "/versions/build_type"), Text(run, "/versions/kernels"),
      Text(run, "/hosts/0/cores_online"), Text(run, "/hosts/0/cpu_model"),
      Text(run, "/hosts/0/kernel"), Text(run, "/page_kib"),
      cache.is_number_unsigned() ? FormatSize(cache.get<std::uint64_t>()) : "unknown");
}

}  // namespace

std::span<const std::string_view> PeerNames() { return kNames; }

Peer ReadPeer(const fs::path& folder, std::string_view name) {
  const fs::path path = folder / name;
  Peer peer{.name = std::string(name), .problems = ReadLines(path / "problems.txt")};
  if (!fs::exists(path / "sweep.csv")) return peer;
  peer.rows = ReadSweep(path.string());
  const Json run = ReadRun(path);
  peer.library = Text(run, "/versions/mpi");
  peer.asked_for = AskedFor(run);
  const std::vector<std::string> ucx = ReadLines(path / "ucx.txt");
  peer.transport =
      Text(run, "/mpi_module") + (ucx.empty() ? ", single copy " + Text(run, "/mpi_single_copy")
                                              : fmt::format(", UCX over {}", fmt::join(ucx, ", ")));
  peer.ranks = Ranks(run);
  peer.machine = Machine(run);
  return peer;
}

}  // namespace hockney
