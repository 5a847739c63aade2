#include "collectives/wire/endpoint_text.h"

#include <regex>
#include <sstream>
#include <utility>

namespace hockney {

EndpointLane FindEndpointLane(std::string_view text) {
  static const std::regex lane_pattern(R"(lane\[\d+\]:\s*\d+:([^/\s]+)/(\S+?)(\.\d+)?\s)");
  static const std::regex messages_pattern(R"(\sam(\s|$))");
  std::istringstream lines{std::string(text)};
  EndpointLane first;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, lane_pattern)) continue;
    EndpointLane lane{match[1], match[2]};
    if (std::regex_search(line, messages_pattern)) return lane;
    if (first.transport.empty()) first = std::move(lane);
  }
  return first;
}

}  // namespace hockney
