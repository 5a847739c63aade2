#include "topology/json_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "topology/check.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

constexpr int kDeepest = 256;

using Json = nlohmann::ordered_json;

std::string Listed(std::initializer_list<std::string_view> names, std::string_view last) {
  std::string list;
  for (const std::string_view& name : names) {
    list += fmt::format("{}\"{}\"",
                        list.empty()               ? ""
                        : &name == names.end() - 1 ? last
                                                   : ", ",
                        name);
  }
  return list;
}

}  // namespace

void JsonReader::Fail(const JsonPlace& place, std::string_view expected) const {
  constexpr std::size_t kLongest = 60;
  std::string found = place.value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > kLongest) found = found.substr(0, kLongest) + "...";
  throw InputError(fmt::format("{}: {}: {}: expected {}", file_,
                               place.path.empty() ? "the whole" : place.path, found, expected));
}

void JsonReader::RequireMembers(const JsonPlace& place,
                                std::initializer_list<std::string_view> names) const {
  const std::string accepted = Listed(names, " and ");
  if (!place.value.is_object()) Fail(place, "an object with " + accepted);
  for (const auto& [key, value] : place.value.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    Fail({value, place.path.empty() ? key : place.path + "." + key},
         fmt::format("no member \"{}\", only {}", key, accepted));
  }
}

JsonPlace JsonReader::Member(const JsonPlace& place, const std::string& name) const {
  const auto found = place.value.find(name);
  if (found == place.value.end()) Fail(place, fmt::format("a member \"{}\"", name));
  return {*found, place.path.empty() ? name : place.path + "." + name};
}

std::vector<JsonPlace> JsonReader::Entries(const JsonPlace& array) const {
  if (!array.value.is_array()) Fail(array, "an array");
  std::vector<JsonPlace> entries;
  for (std::size_t i = 0; i < array.value.size(); ++i) {
    entries.push_back({array.value[i], fmt::format("{}[{}]", array.path, i)});
  }
  return entries;
}

std::string JsonReader::Text(const JsonPlace& place) const {
  if (!place.value.is_string() || place.value.get_ref<const std::string&>().empty()) {
    Fail(place, "a name in quotes");
  }
  return place.value.get<std::string>();
}

std::string JsonReader::Choice(const JsonPlace& place,
                               std::initializer_list<std::string_view> names) const {
  const bool known = place.value.is_string() &&
                     std::find(names.begin(), names.end(),
                               place.value.get_ref<const std::string&>()) != names.end();
  if (!known) Fail(place, Listed(names, " or "));
  return place.value.get<std::string>();
}

void RequireShallowJson(std::string_view text, std::string_view file) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) {
      FailInput(file, PositionAt(text, i),
                fmt::format("brackets within {} others: expected fewer", kDeepest));
    }
  }
}

Json ParseJsonInput(std::string_view text, std::string_view file) {
  RequireShallowJson(text, file);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    const bool printable = offset < text.size() && text[offset] > ' ' && text[offset] <= '~';
    const std::string found = printable              ? fmt::format("\"{}\"", text[offset])
                              : offset < text.size() ? "a character that does not print"
                                                     : "the end of the text";
    FailInput(file, PositionAt(text, offset), found + ": expected JSON");
  }
}

}  // namespace hockney
