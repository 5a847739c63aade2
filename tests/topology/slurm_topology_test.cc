#include "topology/slurm_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/check.h"

namespace hockney {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::StartsWith;

auto IsRack(const std::string& name, const std::string& pod, const auto& hosts) {
  return AllOf(Field(&SwitchTree::Rack::name, name), Field(&SwitchTree::Rack::pod, pod),
               Field(&SwitchTree::Rack::hosts, hosts));
}

std::string Failure(const std::string& text) {
  try {
    ParseSlurmTopology(text, "topology.conf");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(SlurmTopologyTest, LeafSwitchesAreRacksAndThoseRightAboveArePods) {
  const SwitchTree tree = ParseSlurmTopology(
      "SwitchName=top Switches=mid[0-1]\n"
      "SwitchName=mid0 Switches=leaf[0-1]\n"
      "SwitchName=mid1 Switches=leaf2\n"
      "SwitchName=leaf0 Nodes=h[0-1]\n"
      "SwitchName=leaf1 Nodes=h2\n"
      "SwitchName=leaf2 Nodes=h[3-4,9]\n",
      "f");
  EXPECT_THAT(tree.racks, ElementsAre(IsRack("leaf0", "mid0", ElementsAre("h0", "h1")),
                                      IsRack("leaf1", "mid0", ElementsAre("h2")),
                                      IsRack("leaf2", "mid1", ElementsAre("h3", "h4", "h9"))));
}

TEST(SlurmTopologyTest, ReadsContinuedLinesCommentsQuotesAndAnyCase) {
  const SwitchTree tree = ParseSlurmTopology(
      "# three levels\r\n"
      "SwitchName=top Switches=mid[0-1]\r\n"
      "SwitchName=mid0 Switches=leaf0,leaf1\n"
      "SwitchName=mid1 Switches=\"leaf2\" LinkSpeed=100\n"
      "SwitchName=leaf0 Nodes=host[01-02]# two\n"
      "switchname=leaf1 NODES=host03 linkspeed=900\n"
      "SwitchName=leaf2 \\\n"
      "   Nodes=host04\\\n"
      "   LinkSpeed=1",
      "f");
  EXPECT_THAT(tree.racks, ElementsAre(IsRack("leaf0", "mid0", ElementsAre("host01", "host02")),
                                      IsRack("leaf1", "mid0", ElementsAre("host03")),
                                      IsRack("leaf2", "mid1", ElementsAre("host04"))));
  EXPECT_EQ(tree.source, "Slurm topology f");
}

TEST(SlurmTopologyTest, OneLevelOfSwitchesHasNoPods) {
  const SwitchTree tree = ParseSlurmTopology("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=b\n", "f");
  EXPECT_THAT(tree.racks,
              ElementsAre(IsRack("s0", "", ElementsAre("a")), IsRack("s1", "", ElementsAre("b"))));
}

TEST(SlurmTopologyTest, BlocksAreRacks) {
  const SwitchTree tree = ParseSlurmTopology(
      "BlockName=b1 Nodes=n[01-03]\nBlockName=b2 Nodes=n[04-05]\nBlockSizes=3,6\n", "f");
  EXPECT_THAT(tree.racks, ElementsAre(IsRack("b1", "", ElementsAre("n01", "n02", "n03")),
                                      IsRack("b2", "", ElementsAre("n04", "n05"))));
}

TEST(SlurmTopologyTest, FaultsNameLineColumnTextAndWhatWouldDo) {
  EXPECT_EQ(Failure("SwitchName=s0 Nodes=a\nNodeName=x CPUs=2\n"),
            "topology.conf:2:1: \"nodename\": expected SwitchName, BlockName or BlockSizes");
  EXPECT_EQ(Failure("SwitchName=s0 Knots=a\n"),
            "topology.conf:1:15: \"knots\": expected Nodes, Switches or LinkSpeed");
  EXPECT_EQ(Failure("BlockName=s0 Switches=a\n"),
            "topology.conf:1:14: \"switches\": expected Nodes");
  EXPECT_EQ(Failure("# x\nSwitchName=s0 Nodes\n"),
            "topology.conf:2:15: \"Nodes\": expected key=value");
  EXPECT_EQ(Failure("SwitchName=s0 Nodes=\n"), "topology.conf:1:21: Nodes=: expected a value");
  EXPECT_EQ(Failure("SwitchName=s0\n"),
            "topology.conf:1:12: \"s0\": expected either Nodes or Switches");
  EXPECT_EQ(Failure("SwitchName=s0 Nodes=a Switches=s1\n"),
            "topology.conf:1:12: \"s0\": expected either Nodes or Switches");
  EXPECT_EQ(Failure("SwitchName=s0 \\\n Nodes=n[1-\n"),
            "topology.conf:2:12: \"n[1-\": expected a number");
  EXPECT_EQ(Failure("SwitchName=s0 Nodes=\"a b\n"),
            "topology.conf:1:22: \"a b: expected a closing quote");
  EXPECT_THAT(Failure(""), StartsWith("topology.conf:1:1: expected lines such as"));
}

TEST(SlurmTopologyTest, WhatIsNoTreeIsRefused) {
  EXPECT_EQ(Failure("SwitchName=s0 Nodes=a\nSwitchName=s0 Nodes=b\n"),
            "topology.conf:2:12: \"s0\": expected a name once only");
  EXPECT_EQ(Failure("SwitchName=s0 Switches=s1\n"),
            "topology.conf:1:24: \"s1\": expected the name of a switch of this file");
  EXPECT_EQ(Failure("SwitchName=s0 Switches=s1\nSwitchName=s1 Switches=s0\n"),
            "topology.conf:1:12: \"s0\": expected a tree, but this switch is below itself");
  EXPECT_EQ(Failure("SwitchName=a Switches=s\nSwitchName=b Switches=s\nSwitchName=s Nodes=n\n"),
            "topology.conf:2:23: \"s\": expected once only, but it is below \"a\" already");
  EXPECT_EQ(Failure("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2\n"),
            "topology.conf:2:12: node \"n2\": expected in one rack, but it is in \"a\" and \"b\"");
}

TEST(SlurmAddressTest, SwitchesComeNearestFirst) {
  EXPECT_THAT(ParseSlurmAddress("s2.s0.node3", "switch.switch.node"), ElementsAre("s0", "s2"));
  EXPECT_THAT(ParseSlurmAddress("s2.node3.example.org", "switch.node"), ElementsAre("s2"));
  EXPECT_THAT(ParseSlurmAddress("b1.node3", "block.node"), ElementsAre("b1"));
  // Without a topology plugin the address is the node alone.
  EXPECT_THAT(ParseSlurmAddress("node3", "node"), IsEmpty());
  EXPECT_THAT(ParseSlurmAddress("", ""), IsEmpty());
  EXPECT_THAT(ParseSlurmAddress("node3", "switch.node"), IsEmpty());
  EXPECT_THAT(ParseSlurmAddress("s2.node3", ""), IsEmpty());
}

}  // namespace
}  // namespace hockney
