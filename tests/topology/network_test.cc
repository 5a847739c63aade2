#include "topology/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/check.h"

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const NetworkAddress docker{"docker0", "172.17.0.1", 16};
const NetworkAddress eth{"eth0", "10.0.0.1", 24};
const NetworkAddress eth_of_b{"eth0", "10.0.0.2", 24};
const NetworkAddress ib{"ib0", "192.168.5.1", 24};
const NetworkAddress ib_of_b{"ib0", "192.168.5.2", 24};

TEST(NetworkTest, AddressesThatEveryHostHasLeadNowhere) {
  const auto chosen = ChooseAddresses({{docker, eth}, {docker, eth_of_b}}, 0, "");
  EXPECT_THAT(chosen, ElementsAre(eth));
}

TEST(NetworkTest, OnlyTheInterfacesNamedAreTaken) {
  EXPECT_THAT(ChooseAddresses({{eth, ib}, {eth_of_b, ib_of_b}}, 1, "ib0"), ElementsAre(ib_of_b));
  EXPECT_THAT(ChooseAddresses({{eth, ib}, {eth_of_b}}, 0, "eno1,ib0"), ElementsAre(ib));
  // The user's word counts, whatever others have.
  EXPECT_THAT(ChooseAddresses({{docker, eth}, {docker}}, 0, "docker0"), ElementsAre(docker));
}

TEST(PublicCaseTest, B47AnUnknownInterfaceIsNamedBesideThoseThereAre) {
  try {
    ChooseAddresses({{eth, ib}, {eth_of_b}}, 0, "eth99");
    FAIL() << "it was accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--iface: \"eth99\""));
    EXPECT_THAT(error.what(), HasSubstr("eth0, ib0"));
  }
}

TEST(PublicCaseTest, B47AHostWithOnlyBridgesSaysSo) {
  try {
    ChooseAddresses({{docker}, {docker, eth_of_b}}, 0, "");
    FAIL() << "it was accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no address that others can reach it by"));
    EXPECT_THAT(error.what(), HasSubstr("docker0"));
  }
}

TEST(NetworkTest, HostsOfOneNetworkNameSpaceReachEachOther) {
  EXPECT_THAT(ChooseAddresses({{eth}, {eth}}, 1, ""), ElementsAre(eth));
}

TEST(NetworkTest, SharedNetworksAreTriedFirst) {
  const NetworkAddress other{"eth1", "10.0.1.2", 24};
  EXPECT_THAT(NearestFirst({other, ib_of_b, eth_of_b}, std::vector{eth}),
              ElementsAre(eth_of_b, other, ib_of_b));
  const NetworkAddress six{"eth2", "fd00:1::2", 64};
  EXPECT_THAT(NearestFirst({eth_of_b, six}, std::vector{NetworkAddress{"eth2", "fd00:1::9", 64}}),
              ElementsAre(six, eth_of_b));
}

TEST(NetworkTest, TextGoesThereAndBack) {
  const std::vector<NetworkAddress> all = {docker, {"eth2", "fd00:1::2", 64}};
  EXPECT_EQ(ParseAddresses(Serialize(all)), all);
  EXPECT_THROW(ParseAddresses("eth0 10.0.0.1\n"), std::invalid_argument);
  EXPECT_THROW((NetworkAddress{"eth0", "10.0.0", 8}.ForPort(1)), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
