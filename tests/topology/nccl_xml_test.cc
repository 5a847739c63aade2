#include "topology/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/test_data.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::DataPath;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::StartsWith;

GpuTopology Parse(const std::string& text) { return ParseNcclXml(text, "topo.xml"); }

std::string Levels(const std::vector<DevicePath>& paths) {
  std::string letters;
  for (const DevicePath& path : paths) letters += Letter(path.level);
  return letters;
}

TEST(NcclXmlTest, NvswitchInAVirtualMachine) {
  const GpuTopology topology = ReadNcclXml(DataPath("nccl-topo-8xH100-vm-nvswitch.xml"));
  ASSERT_EQ(topology.gpus.size(), 8U);
  ASSERT_EQ(topology.nics.size(), 8U);
  EXPECT_EQ(topology.unknown_because, "");
  for (int gpu = 0; gpu < 8; ++gpu) {
    std::string levels = "vvvvvvvv";
    levels[gpu] = '=';
    EXPECT_EQ(Levels(topology.between_gpus[gpu]), levels);
    EXPECT_EQ(topology.between_gpus[gpu][7 - gpu].text, "NV18");  // 5 + 5 + 4 + 4 to switches
    EXPECT_THAT(topology.gpus[gpu].numa_node, Optional(gpu < 4 ? 0 : 1));
    EXPECT_THAT(NearestNics(topology, gpu), ElementsAre(gpu));  // in the order of the file
    EXPECT_EQ(topology.nics[gpu].device, "mlx5_" + std::to_string(7 - gpu));
    EXPECT_THAT(topology.nics[gpu].gbit_s, Optional(200.0));
  }
  EXPECT_EQ(Levels(topology.to_nics[0]), "pbbbssss");
  EXPECT_EQ(topology.to_nics[0][0].text, "PIX");
  EXPECT_EQ(topology.gpus[0].bus_id, "0000:a4:00.0");
  EXPECT_EQ(topology.gpus[0].cpu_list, "0-79");
  EXPECT_EQ(topology.gpus[4].cpu_list, "80-159");
}

TEST(NcclXmlTest, XgmiBetweenAllPairs) {
  const GpuTopology topology = ReadNcclXml(DataPath("nccl-topo-8xMI300X-xgmi.xml"));
  ASSERT_EQ(topology.gpus.size(), 8U);
  ASSERT_EQ(topology.nics.size(), 8U);
  EXPECT_EQ(Levels(topology.between_gpus[3]), "vvv=vvvv");
  EXPECT_EQ(topology.between_gpus[3][0].text, "XGMI");
  for (int gpu = 0; gpu < 8; ++gpu) {
    EXPECT_THAT(NearestNics(topology, gpu), ElementsAre(gpu));
    EXPECT_EQ(topology.to_nics[gpu][gpu].text, "PXB");  // two nested switches and a bridge
    EXPECT_THAT(topology.nics[gpu].gbit_s, Optional(400.0));
  }
  EXPECT_EQ(Levels(topology.to_nics[5]), "ssssbpbb");
  EXPECT_EQ(topology.gpus[0].cpu_list, "0-55,112-167");
  EXPECT_EQ(topology.gpus[7].cpu_list, "56-111,168-223");
}

// A GPU or a NIC below a PCI device.
std::string Gpu(const std::string& bus, const std::string& dev, const std::string& links = "") {
  return "<pci busid=\"" + bus + "\" class=\"0x030200\"><gpu dev=\"" + dev + "\">" + links +
         "</gpu></pci>";
}
std::string Link(const std::string& target, int count, const std::string& tclass = "0x030200") {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" +
         tclass + "\"/>";
}

TEST(NcclXmlTest, WithoutLinksOfTheirOwnPciDecides) {
  const GpuTopology topology = Parse(
      "<system version=\"1\">"
      "<cpu numaid=\"0\"><pci busid=\"s0\" class=\"0x060400\">" +
      Gpu("a", "0") + "<pci busid=\"s1\" class=\"0x060400\">" + Gpu("b", "1") + Gpu("b2", "2") +
      "</pci></pci>" + Gpu("c", "3") + "</cpu><cpu numaid=\"-1\">" + Gpu("d", "4") +
      "</cpu></system>");
  ASSERT_EQ(topology.gpus.size(), 5U);
  EXPECT_EQ(Levels(topology.between_gpus[0]), "=ppbs");
  EXPECT_EQ(topology.between_gpus[0][1].text, "PXB");
  EXPECT_EQ(topology.between_gpus[1][2].text, "PIX");
  EXPECT_EQ(topology.gpus[4].numa_node, std::nullopt);
  EXPECT_THAT(topology.nics, IsEmpty());
}

TEST(NcclXmlTest, GpusComeInTheOrderOfTheirNumbers) {
  const GpuTopology topology =
      Parse("<system><cpu>" + Gpu("x", "2") + Gpu("y", "0") + Gpu("z", "1") + "</cpu></system>");
  EXPECT_EQ(topology.gpus[0].bus_id, "y");
  EXPECT_EQ(topology.gpus[1].bus_id, "z");
  EXPECT_EQ(topology.gpus[2].bus_id, "x");
  EXPECT_EQ(topology.gpus[2].name, "GPU2");
}

TEST(NcclXmlTest, DirectLinksCountAndTheFewerOfTwoDirections) {
  const GpuTopology topology =
      Parse("<system><cpu>" + Gpu("a", "0", Link("b", 2) + Link("c", 1)) +
            Gpu("b", "1", Link("a", 1)) + Gpu("c", "2") + "</cpu></system>");
  EXPECT_EQ(topology.between_gpus[0][1].text, "NV1");
  EXPECT_EQ(topology.between_gpus[1][0].text, "NV1");
  EXPECT_EQ(topology.between_gpus[0][2].text, "NV1");  // listed by one end only
  EXPECT_EQ(topology.between_gpus[2][0].text, "NV1");
  EXPECT_EQ(topology.between_gpus[1][2].text, "PHB");
}

TEST(NcclXmlTest, LinksToTheCpuAreNotBetweenGpus) {
  const std::string to_cpu = Link("cpu", 6, "0x068001");
  const GpuTopology topology =
      Parse("<system><cpu>" + Gpu("a", "0", to_cpu) + Gpu("b", "1", to_cpu) + "</cpu></system>");
  EXPECT_EQ(Levels(topology.between_gpus[0]), "=b");
}

TEST(NcclXmlTest, CloudFilesHoldBarePciDevices) {
  const GpuTopology topology = Parse(
      "<system version=\"1\"><cpu numaid=\"0\" affinity=\"0000ff\">"
      "<pci busid=\"s0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
      "<pci busid=\"0001:00:00.0\" class=\"0x030200\"/>"
      "<pci busid=\"0101:00:00.0\" class=\"0x020700\"/></pci>"
      "<pci busid=\"s1\" class=\"0x060400\"><pci busid=\"0002:00:00.0\" class=\"0x030200\"/>"
      "<pci busid=\"0102:00:00.0\" class=\"0x020700\"/></pci></cpu></system>");
  ASSERT_EQ(topology.gpus.size(), 2U);
  ASSERT_EQ(topology.nics.size(), 2U);
  EXPECT_EQ(topology.gpus[1].bus_id, "0002:00:00.0");
  EXPECT_EQ(topology.nics[1].device, "0102:00:00.0");
  EXPECT_EQ(Levels(topology.between_gpus[0]), "=b");
  EXPECT_EQ(Levels(topology.to_nics[0]), "pb");
  EXPECT_EQ(topology.gpus[0].cpu_list, "0-7");
}

TEST(NcclXmlTest, SwitchesJoinedBesideTheTreeAreOneHopMore) {
  const GpuTopology topology = Parse(
      "<system><cpu><pci busid=\"s0\" class=\"0x060400\"><pcilink target=\"s1\"/>" + Gpu("a", "0") +
      "</pci><pci busid=\"s1\" class=\"0x060400\">" + Gpu("b", "1") + "</pci></cpu></system>");
  EXPECT_EQ(topology.between_gpus[0][1].text, "PXB");
  EXPECT_EQ(topology.between_gpus[1][0].text, "PXB");
}

TEST(NcclXmlTest, VirtualNicsAndUnknownElementsAreNoTrouble) {
  const GpuTopology topology = Parse(
      "<?xml version=\"1.0\"?><!-- made up --><system version=\"3\" new=\"1\"><extra/><cpu "
      "numaid=\"x\" affinity=\"zz\"><nic><net name=\"eth0\" speed=\"-1\"/><net name=\"eth1\"/>"
      "</nic>" +
      Gpu("a", "0", "<c2c bw=\"1\"/>") + "</cpu></system>");
  ASSERT_EQ(topology.nics.size(), 2U);
  EXPECT_EQ(topology.nics[0].gbit_s, std::nullopt);
  EXPECT_EQ(Levels(topology.to_nics[0]), "bb");
  EXPECT_EQ(topology.gpus[0].numa_node, std::nullopt);
  EXPECT_EQ(topology.gpus[0].cpu_list, "");
}

TEST(NcclXmlTest, AHostWithoutGpusSaysSo) {
  EXPECT_EQ(Parse("<system version=\"1\"/>").unknown_because, "no GPU in topo.xml");
}

std::string Failure(const std::string& text) {
  try {
    Parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(NcclXmlTest, WhatIsNoTopologyIsNamedByLineAndColumn) {
  EXPECT_THAT(Failure("<system>\n  <cpu>\n</system>\n"),
              AllOf(StartsWith("topo.xml:3:"), HasSubstr("expected XML: ")));
  EXPECT_THAT(Failure(""), StartsWith("topo.xml:1:1: expected XML: "));
  EXPECT_THAT(Failure("GPU0 X\n"), StartsWith("topo.xml:"));
  EXPECT_EQ(Failure("\n<graphs version=\"1\"/>"),
            "topo.xml:2:2: <graphs>: expected <system>, as NCCL_TOPO_DUMP_FILE writes");
}

}  // namespace
}  // namespace hockney
