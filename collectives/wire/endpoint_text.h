#pragma once

#include <string>
#include <string_view>

namespace hockney {

// The lane of an endpoint that carries active messages; empty where the text names none.
struct EndpointLane {
  std::string transport;  // "tcp", "rc_mlx5"
  std::string device;     // "eth0", "mlx5_0:1"
};

// Reads what ucp_ep_print_info prints; UCX before 1.14 has no other way to tell how an endpoint
// reaches its peer. A lane is "lane[0]: 2:tcp/eth0.0 md[1] -> ... am wireup".
EndpointLane FindEndpointLane(std::string_view text);

}  // namespace hockney
