#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// A value of a JSON file that a user wrote, and the way to it: "racks[1].hosts[0]".
struct JsonPlace {
  const nlohmann::ordered_json& value;
  std::string path = {};
};

// Reads such a file strictly. All throw InputError `<file>: <path>: <value>: expected ...`.
class JsonReader {
 public:
  // `file` is named in messages and outlives the reader.
  explicit JsonReader(std::string_view file) : file_(file) {}

  [[noreturn]] void Fail(const JsonPlace& place, std::string_view expected) const;

  // An object with no other members.
  void RequireMembers(const JsonPlace& place, std::initializer_list<std::string_view> names) const;
  // A member that must be there.
  JsonPlace Member(const JsonPlace& place, const std::string& name) const;
  std::vector<JsonPlace> Entries(const JsonPlace& array) const;
  // A text that is not empty.
  std::string Text(const JsonPlace& place) const;
  // The same, read to be any of `names`.
  std::string Choice(const JsonPlace& place, std::initializer_list<std::string_view> names) const;

 private:
  std::string_view file_;
};

// Throws InputError where brackets of a JSON text are nested deeper than any file of ours, which
// would overflow the stack of whoever walks the values.
void RequireShallowJson(std::string_view text, std::string_view file);

// Returns the JSON of a file's text. Throws InputError `<file>:<line>:<column>: ...` if it is none.
nlohmann::ordered_json ParseJsonInput(std::string_view text, std::string_view file);

}  // namespace hockney
