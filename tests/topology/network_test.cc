#include "topology/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/check.h"

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const NetworkAddress kDocker{"docker0", "172.17.0.1", 16};
const NetworkAddress kEth{"eth0", "10.0.0.1", 24};
const NetworkAddress kEthOfB{"eth0", "10.0.0.2", 24};
const NetworkAddress kIb{"ib0", "192.168.5.1", 24};
const NetworkAddress kIbOfB{"ib0", "192.168.5.2", 24};

TEST(NetworkTest, AddressesThatEveryHostHasLeadNowhere) {
  const auto chosen = ChooseAddresses({{kDocker, kEth}, {kDocker, kEthOfB}}, 0, "");
  EXPECT_THAT(chosen, ElementsAre(kEth));
}

TEST(NetworkTest, OnlyTheInterfacesNamedAreTaken) {
  EXPECT_THAT(ChooseAddresses({{kEth, kIb}, {kEthOfB, kIbOfB}}, 1, "ib0"), ElementsAre(kIbOfB));
  EXPECT_THAT(ChooseAddresses({{kEth, kIb}, {kEthOfB}}, 0, "eno1,ib0"), ElementsAre(kIb));
  // The user's word counts, whatever others have.
  EXPECT_THAT(ChooseAddresses({{kDocker, kEth}, {kDocker}}, 0, "docker0"), ElementsAre(kDocker));
}

TEST(PublicCaseTest, B47AnUnknownInterfaceIsNamedBesideThoseThereAre) {
  try {
    ChooseAddresses({{kEth, kIb}, {kEthOfB}}, 0, "eth99");
    FAIL() << "it was accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--iface: \"eth99\""));
    EXPECT_THAT(error.what(), HasSubstr("eth0, ib0"));
  }
}

TEST(PublicCaseTest, B47AHostWithOnlyBridgesSaysSo) {
  try {
    ChooseAddresses({{kDocker}, {kDocker, kEthOfB}}, 0, "");
    FAIL() << "it was accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no address that others can reach it by"));
    EXPECT_THAT(error.what(), HasSubstr("docker0"));
  }
}

TEST(NetworkTest, HostsOfOneNetworkNameSpaceReachEachOther) {
  EXPECT_THAT(ChooseAddresses({{kEth}, {kEth}}, 1, ""), ElementsAre(kEth));
}

TEST(NetworkTest, SharedNetworksAreTriedFirst) {
  const NetworkAddress other{"eth1", "10.0.1.2", 24};
  EXPECT_THAT(NearestFirst({other, kIbOfB, kEthOfB}, std::vector{kEth}),
              ElementsAre(kEthOfB, other, kIbOfB));
  const NetworkAddress six{"eth2", "fd00:1::2", 64};
  EXPECT_THAT(NearestFirst({kEthOfB, six}, std::vector{NetworkAddress{"eth2", "fd00:1::9", 64}}),
              ElementsAre(six, kEthOfB));
}

TEST(NetworkTest, TextGoesThereAndBack) {
  const std::vector<NetworkAddress> all = {kDocker, {"eth2", "fd00:1::2", 64}};
  EXPECT_EQ(ParseAddresses(Serialize(all)), all);
  EXPECT_THROW(ParseAddresses("eth0 10.0.0.1\n"), std::invalid_argument);
  EXPECT_THROW((NetworkAddress{"eth0", "10.0.0", 8}.ForPort(1)), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
