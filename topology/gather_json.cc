#include "topology/gather_json.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "topology/session.h"

namespace hockney {

std::vector<nlohmann::ordered_json> GatherJson(Session& session,
                                               const nlohmann::ordered_json& mine) {
  using Json = nlohmann::ordered_json;
  // Bytes that are not UTF-8 (a host name, a path in the command line) must not end the run.
  const std::string text = mine.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<Json> all;
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(text)))) {
    const auto* begin = reinterpret_cast<const char*>(bytes.data());
    all.push_back(Json::parse(begin, begin + bytes.size()));
  }
  return all;
}

}  // namespace hockney
