#include "collectives/wire/endpoint_text.h"

#include <regex>
#include <sstream>

namespace hockney {

EndpointLane FindEndpointLane(std::string_view text) {
  static const std::regex kLane(R"(lane\[\d+\]:\s*\d+:([^/\s]+)/(\S+?)(\.\d+)?\s)");
  static const std::regex kMessages(R"(\sam(\s|$))");
  std::istringstream lines{std::string(text)};
  EndpointLane first;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, kLane)) continue;
    const EndpointLane lane{match[1], match[2]};
    if (std::regex_search(line, kMessages)) return lane;
    if (first.transport.empty()) first = lane;
  }
  return first;
}

}  // namespace hockney
