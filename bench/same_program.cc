#include "bench/same_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/build.h"
#include "bench/facts.h"
#include "bench/nccl_tests/names.h"
#include "bench/options.h"
#include "topology/check.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// Returns the rank whose value most ranks share; the lowest one of several.
std::size_t FindUsual(const std::vector<std::string>& values) {
  std::map<std::string, int> counts;
  for (const std::string& value : values) ++counts[value];
  const auto usual = std::max_element(
      values.begin(), values.end(),
      [&](const std::string& a, const std::string& b) { return counts[a] < counts[b]; });
  return static_cast<std::size_t>(usual - values.begin());
}

// The first words that differ, with the option before them if they are its value.
std::string Difference(const std::vector<std::string>& odd, const std::vector<std::string>& usual) {
  std::size_t at = 0;
  while (at < odd.size() && at < usual.size() && odd[at] == usual[at]) ++at;
  const bool follows = at > 0 && at <= odd.size() && odd[at - 1].starts_with('-');
  const auto show = [&](const std::vector<std::string>& words) -> std::string {
    if (at >= words.size()) return "nothing there";
    return "\"" + (follows ? words[at - 1] + " " : "") + words[at] + "\"";
  };
  return fmt::format("{} instead of {}", show(odd), show(usual));
}

[[noreturn]] void Fail(const std::string& text) { throw Agreed<UsageError>(text); }

}  // namespace

void RequireSameProgram(Session& session, const std::vector<std::string>& arguments,
                        const std::string& problem) {
  const Build build = ReadBuild();
  std::vector<std::string> options = arguments;
  // A program may lie elsewhere on another host; what counts is which one its name makes it.
  const auto linked = CollectiveOfProgram(arguments[0]);
  options[0] = linked ? fmt::format("{} by its program's name", Name(*linked)) : "hockney";
  const std::vector<Json> all =
      GatherJson(session, {{"build", build.version + " " + build.type + " " + build.id},
                           {"options", options},
                           {"problem", problem}});
  std::vector<std::string> builds;
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto theirs = all[rank]["problem"].get<std::string>();
    if (!theirs.empty()) Fail(theirs);
    builds.push_back(all[rank]["build"]);
    texts.push_back(all[rank]["options"].dump());
  }
  const std::size_t usual_build = FindUsual(builds);
  const std::size_t usual = FindUsual(texts);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (builds[rank] != builds[usual_build]) {
      Fail(
          fmt::format("rank {} runs another build of hockney ({}) than rank {} ({}); start one "
                      "program on all ranks",
                      rank, builds[rank], usual_build, builds[usual_build]));
    }
    if (texts[rank] != texts[usual]) {
      Fail(
          fmt::format("rank {} was started with other options than rank {}: {}; start all ranks "
                      "with one command line",
                      rank, usual, Difference(all[rank]["options"], all[usual]["options"])));
    }
  }
}

}  // namespace hockney
