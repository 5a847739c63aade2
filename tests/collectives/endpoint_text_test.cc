#include "collectives/wire/endpoint_text.h"

#include <gtest/gtest.h>

namespace hockney {
namespace {

TEST(EndpointTextTest, TakesTheLaneOfActiveMessages) {
  const EndpointLane lane = FindEndpointLane(
      "#\n# UCP endpoint \n#\n#               peer: <no debug data>\n"
      "#                 lane[0]:  4:tcp/eth0.0 md[1]   -> md[1]/tcp/sysdev[255] rma_bw#0 wireup\n"
      "#                 lane[1]:  7:rc_mlx5/mlx5_0:1.0 md[3] -> md[3]/ib/sysdev[0] am am_bw#0\n");
  EXPECT_EQ(lane.transport, "rc_mlx5");
  EXPECT_EQ(lane.device, "mlx5_0:1");
}

TEST(EndpointTextTest, AnyLaneIsBetterThanNoneAndNoneIsSaid) {
  EXPECT_EQ(FindEndpointLane("# lane[0]:  4:tcp/eth0.0 md[1] -> wireup\n").device, "eth0");
  EXPECT_EQ(FindEndpointLane("# no lanes here\n").transport, "");
  EXPECT_EQ(FindEndpointLane("").transport, "");
}

}  // namespace
}  // namespace hockney
