#include "bench/gpu_text.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "bench/text_table.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The NICs nearest to a GPU with the path to them: "NIC0 mlx5_0 (PIX)".
std::string NearestNics(const Json& gpu, const Json& nics) {
  std::string text;
  for (const Json& number : gpu["nearest_nics"]) {
    const auto i = number.get<std::size_t>();
    const std::string device = nics[i]["device"].is_null() ? "" : " " + Text(nics[i]["device"]);
    text += fmt::format("{}{}{} ({})", text.empty() ? "" : ", ", Text(nics[i]["name"]), device,
                        Text(gpu["paths_to_nics"][i]));
  }
  return text.empty() ? "-" : text;
}

// The paths that occur behind each letter.
using PathsByLetter = std::map<std::string, std::set<std::string>>;

void AddPaths(const std::string& letters, const Json& paths, PathsByLetter* by_letter) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    (*by_letter)[std::string(1, letters[i])].insert(paths[i].get<std::string>());
  }
}

// "v nvlink (NV18), s socket (SYS)"
std::string LegendText(const Json& topology) {
  PathsByLetter by_letter;
  for (const Json& gpu : topology["gpus"]) {
    AddPaths(gpu["to_gpus"], gpu["paths_to_gpus"], &by_letter);
    AddPaths(gpu["to_nics"], gpu["paths_to_nics"], &by_letter);
  }
  std::string text;
  for (const auto& [letter, name] : topology["legend"].items()) {
    std::string paths;
    for (const std::string& path : by_letter[letter]) paths += (paths.empty() ? "" : " ") + path;
    if (paths.empty()) continue;
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", letter, Text(name), paths);
  }
  return text;
}

}  // namespace

std::string GpuTopologyText(const Json& topology) {
  std::string text = fmt::format("GPUs by {}\n", Text(topology["source"]));
  if (!topology["unknown_because"].is_null()) {
    return text + fmt::format("  topology not known: {}\n", Text(topology["unknown_because"]));
  }
  const Json& nics = topology["nics"];
  std::vector<std::vector<std::string>> rows = {
      {"gpu", "to GPUs", "to NICs", "numa", "cpus", "nearest NIC"}};
  for (const Json& gpu : topology["gpus"]) {
    rows.push_back({Text(gpu["name"]), Text(gpu["to_gpus"]),
                    nics.empty() ? "-" : Text(gpu["to_nics"]), Text(gpu["numa_node"]),
                    Text(gpu["cpus"]), NearestNics(gpu, nics)});
  }
  text += FormatTable(rows) + fmt::format("  {}\n", LegendText(topology));
  if (nics.empty()) text += "  no NIC is listed there\n";
  for (const Json& note : topology["notes"]) text += fmt::format("  note: {}\n", Text(note));
  return text;
}

}  // namespace hockney
