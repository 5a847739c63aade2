// Outputs of nvidia-smi topo -m: recorded ones, and B53 of the project's collection of public
// cases.
#include "topology/nvidia_topo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/test_data.h"
#include "topology/check.h"

namespace hockney {
namespace {

using testing::DataPath;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

GpuTopology Parse(const std::string& text) { return ParseNvidiaTopo(text, "topo.txt"); }

// The letters of a row.
std::string Levels(const std::vector<DevicePath>& paths) {
  std::string letters;
  for (const DevicePath& path : paths) letters += Letter(path.level);
  return letters;
}

std::string Texts(const std::vector<DevicePath>& paths) {
  std::string texts;
  for (const DevicePath& path : paths) texts += (texts.empty() ? "" : " ") + path.text;
  return texts;
}

TEST(NvidiaTopoTest, NvswitchWithFiveNics) {
  const GpuTopology topology = ReadNvidiaTopo(DataPath("topo-m-8gpu-nvswitch-5nic.txt"));
  ASSERT_EQ(topology.gpus.size(), 8U);
  ASSERT_EQ(topology.nics.size(), 5U);
  EXPECT_THAT(topology.notes, IsEmpty());
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    std::string levels = "vvvvvvvv";
    levels[gpu] = '=';
    EXPECT_EQ(Levels(topology.between_gpus[gpu]), levels);
    EXPECT_THAT(topology.gpus[gpu].numa_node, Optional(gpu < 4 ? 0 : 1));
    EXPECT_EQ(topology.gpus[gpu].cpu_list, gpu < 4 ? "0-47,96-143" : "48-95,144-191");
  }
  EXPECT_EQ(topology.between_gpus[7][0].text, "NV18");
  EXPECT_EQ(topology.nics[0].device, "ibp14s0");
  EXPECT_EQ(topology.nics[4].device, "rocep32s0f0");
  EXPECT_EQ(Texts(topology.to_nics[0]), "PIX NODE SYS SYS NODE");
  EXPECT_EQ(Levels(topology.to_nics[6]), "ssbps");
  for (const auto& [gpu, nic] : {std::pair(0, 0), {2, 1}, {4, 2}, {6, 3}}) {
    EXPECT_THAT(NearestNics(topology, gpu), ElementsAre(nic));
  }
  EXPECT_THAT(NearestNics(topology, 1), ElementsAre(0, 1, 4));  // NODE
}

TEST(NvidiaTopoTest, PcieOnlySeparatedByTabs) {
  const GpuTopology topology = ReadNvidiaTopo(DataPath("topo-m-8gpu-pcie-sys-tabs.txt"));
  ASSERT_EQ(topology.gpus.size(), 8U);
  EXPECT_THAT(topology.nics, IsEmpty());
  EXPECT_EQ(topology.unknown_because, "");
  EXPECT_THAT(topology.notes, IsEmpty());
  EXPECT_EQ(Levels(topology.between_gpus[2]), "ss=sssss");
  EXPECT_EQ(topology.gpus[3].cpu_list, "0-15,32-47");
  EXPECT_EQ(topology.gpus[4].cpu_list, "16-31,48-63");
  EXPECT_THAT(topology.gpus[4].numa_node, Optional(1));
  EXPECT_THAT(NearestNics(topology, 0), IsEmpty());
}

TEST(NvidiaTopoTest, VirtualMachineTellsNoNearestNic) {
  const GpuTopology topology = ReadNvidiaTopo(DataPath("topo-m-4gpu-vm-8nic-phb.txt"));
  ASSERT_EQ(topology.gpus.size(), 4U);
  ASSERT_EQ(topology.nics.size(), 8U);
  EXPECT_THAT(topology.notes, IsEmpty());
  EXPECT_EQ(Levels(topology.between_gpus[3]), "vvv=");
  EXPECT_EQ(Levels(topology.to_nics[3]), "bbbbbbbb");
  EXPECT_EQ(topology.gpus[0].cpu_list, "0-79");
  EXPECT_EQ(topology.nics[7].device, "mlx5_7");
  EXPECT_THAT(NearestNics(topology, 2), IsEmpty());
}

TEST(PublicCaseTest, B53TheFailureLineAloneIsNotNoNic) {
  for (const char* text : {"Failed to get the topology: Not Supported\n", "", "\n\n"}) {
    const GpuTopology topology = Parse(text);
    EXPECT_THAT(topology.unknown_because, HasSubstr("no matrix of GPUs in topo.txt: "));
    EXPECT_THAT(topology.gpus, IsEmpty());
  }
  EXPECT_THAT(Parse("Failed to get it\nmore\n").unknown_because, HasSubstr("\"Failed to get it\""));
}

TEST(PublicCaseTest, B53OneGpuWithUnknownNumaNode) {
  const std::string row = "GPU0\t X \t0-7\tN/A\t\tN/A\n";
  for (const std::string& text :
       {"\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n" + row, row}) {
    const GpuTopology topology = Parse(text);
    ASSERT_EQ(topology.gpus.size(), 1U);
    EXPECT_EQ(topology.unknown_because, "");
    EXPECT_EQ(topology.gpus[0].numa_node, std::nullopt);
    EXPECT_EQ(topology.gpus[0].cpu_list, "0-7");
    EXPECT_EQ(Levels(topology.between_gpus[0]), "=");
    EXPECT_THAT(topology.notes, IsEmpty());
  }
}

constexpr const char* kTwoGpusThreeNics =
    "        GPU0    GPU1    NIC0    NIC1    NIC2    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV12    PIX     PXB     SYS     0-31    0\n"
    "GPU1    NV12     X      NODE    PHB     SYS     0-31    0\n"
    "NIC0    PIX     NODE     X      PHB     SYS\n"
    "NIC1    PXB     PHB     PHB      X      SYS\n"
    "NIC2    SYS     SYS     SYS     SYS      X\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_0\n"
    "  NIC1: mlx5_1\n"
    "  NIC2: mlx5_bond_0\n";

void ExpectTwoGpusThreeNics(const GpuTopology& topology) {
  ASSERT_EQ(topology.gpus.size(), 2U);
  ASSERT_EQ(topology.nics.size(), 3U);
  EXPECT_EQ(Texts(topology.between_gpus[0]), "X NV12");
  EXPECT_EQ(Texts(topology.between_gpus[1]), "NV12 X");
  EXPECT_EQ(Texts(topology.to_nics[0]), "PIX PXB SYS");
  EXPECT_EQ(Texts(topology.to_nics[1]), "NODE PHB SYS");
  EXPECT_EQ(topology.nics[2].device, "mlx5_bond_0");
  EXPECT_THAT(topology.gpus[1].numa_node, Optional(0));
  EXPECT_EQ(topology.gpus[1].cpu_list, "0-31");
  EXPECT_THAT(NearestNics(topology, 0), ElementsAre(0));  // PIX is nearer than PXB
  EXPECT_THAT(NearestNics(topology, 1), ElementsAre(1));  // PHB is nearer than NODE
  EXPECT_THAT(topology.notes, IsEmpty());
}

TEST(PublicCaseTest, B53TwoGpusWithThreeNicsAndLegend) {
  ExpectTwoGpusThreeNics(Parse(kTwoGpusThreeNics));
}

std::string ReplaceAll(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(PublicCaseTest, B53CarriageReturnsColoursTabsAndAPromptChangeNothing) {
  ExpectTwoGpusThreeNics(Parse(ReplaceAll(kTwoGpusThreeNics, "\n", "\r\n")));
  ExpectTwoGpusThreeNics(Parse(ReplaceAll(kTwoGpusThreeNics, "    ", "\t")));
  ExpectTwoGpusThreeNics(
      Parse("\xEF\xBB\xBF$ nvidia-smi topo -m\n" + std::string(kTwoGpusThreeNics) + "$\n"));
  std::string coloured = ReplaceAll(kTwoGpusThreeNics, "    GPU1 ", "    \x1b[4mGPU1\x1b[0m ");
  coloured = ReplaceAll(coloured, "        GPU0 ", "\x1b[4m        GPU0\x1b[0m ");
  coloured = ReplaceAll(coloured, "CPU Affinity", "\x1b[4mCPU Affinity\x1b[0m");
  ASSERT_NE(coloured, kTwoGpusThreeNics);
  ExpectTwoGpusThreeNics(Parse(coloured));
}

TEST(PublicCaseTest, B53EightGpusOfAnOldDriverWithoutNumaColumn) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tCPU Affinity\n";
  for (int row = 0; row < 8; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < 8; ++column) {
      const char* path = row / 4 != column / 4 ? "SYS" : (row + column) % 2 == 0 ? "NV2" : "NV1";
      text += std::string("\t") + (row == column ? " X " : path);
    }
    text += row < 4 ? "\t0-19,40-59\n" : "\t20-39,60-79\n";
  }
  const GpuTopology topology = Parse(text);
  ASSERT_EQ(topology.between_gpus.size(), 8U);
  EXPECT_EQ(Levels(topology.between_gpus[0]), "=vvvssss");
  EXPECT_EQ(Texts(topology.between_gpus[5]), "SYS SYS SYS SYS NV1 X NV1 NV2");
  EXPECT_EQ(topology.gpus[5].numa_node, std::nullopt);
  EXPECT_EQ(topology.gpus[5].cpu_list, "20-39,60-79");
  EXPECT_THAT(topology.notes, IsEmpty());
}

TEST(PublicCaseTest, B53AffinityAsAListOfCpus) {
  const GpuTopology topology = Parse(
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tSYS\t0,2,4,6,8\t0\n"
      "GPU1\tSYS\t X \t4,6,8,10,12\t0-1\n");
  EXPECT_EQ(topology.gpus[1].cpu_list, "4,6,8,10,12");
  EXPECT_THAT(topology.gpus[0].numa_node, Optional(0));
  EXPECT_EQ(topology.gpus[1].numa_node, std::nullopt);  // two nodes are not one
}

TEST(PublicCaseTest, B53EighteenNicsByTheirOwnNames) {
  std::string header = "\tGPU0";
  std::string row = "GPU0\t X ";
  for (int nic = 0; nic < 18; ++nic) {
    header += "\tmlx5_" + std::to_string(nic);
    row += nic == 17 ? "\tPIX" : "\tSYS";
  }
  const GpuTopology topology =
      Parse(header + "\tCPU Affinity\tNUMA Affinity\n" + row + "\t4,6,8,10,12\t3\n");
  ASSERT_EQ(topology.nics.size(), 18U);
  EXPECT_EQ(topology.nics[17].name, "mlx5_17");
  EXPECT_THAT(NearestNics(topology, 0), ElementsAre(17));
  EXPECT_THAT(topology.gpus[0].numa_node, Optional(3));
}

TEST(PublicCaseTest, B53AMatrixThatIsUnlikeInItsDirectionsIsTheSlower) {
  const GpuTopology topology = Parse(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
      "GPU0\t X \tPIX\tNV4\t0-7\n"
      "GPU1\tSYS\t X \tPHB\t0-7\n"
      "GPU2\tNV12\tPHB\t X \t0-7\n");
  EXPECT_EQ(Texts(topology.between_gpus[0]), "X SYS NV4");
  EXPECT_EQ(Texts(topology.between_gpus[1]), "SYS X PHB");
  EXPECT_THAT(topology.notes,
              ElementsAre("GPU0 and GPU1: PIX one way and SYS the other, taken as SYS",
                          "GPU0 and GPU2: NV4 one way and NV12 the other, taken as NV4"));
}

TEST(PublicCaseTest, B53AnUnknownPathIsTheSlowestWithANote) {
  const GpuTopology topology = Parse(
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tC2C\t0-71\t0\n"
      "GPU1\tC2C\t X \t72-143\t1\n");
  EXPECT_EQ(Levels(topology.between_gpus[0]), "=s");
  EXPECT_THAT(topology.notes, ElementsAre("line 2: path \"C2C\" from GPU0 to GPU1 taken as SYS",
                                          "line 3: path \"C2C\" from GPU1 to GPU0 taken as SYS"));
  EXPECT_THAT(topology.gpus[1].numa_node, Optional(1));
}

TEST(PublicCaseTest, B53MigDevicesHaveNoAffinity) {
  const GpuTopology topology = Parse(
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \t[N/A]\t[N/A]\t[N/A]\t[N/A]\n"
      "GPU1\t[N/A]\t X \t[N/A]\t[N/A]\t[N/A]\n");
  ASSERT_EQ(topology.gpus.size(), 2U);
  EXPECT_EQ(topology.gpus[0].cpu_list, "");
  EXPECT_EQ(topology.gpus[0].numa_node, std::nullopt);
  EXPECT_EQ(Levels(topology.between_gpus[0]), "=s");
  EXPECT_EQ(topology.notes.size(), 2U);
}

TEST(NvidiaTopoTest, ManyNotesAreCounted) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n";
  for (int row = 0; row < 4; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < 4; ++column) text += row == column ? "\t X " : "\tNEW";
    text += "\t0\n";
  }
  const GpuTopology topology = Parse(text);
  ASSERT_EQ(topology.notes.size(), 9U);
  EXPECT_EQ(topology.notes.back(), "4 more like these");
}

TEST(NvidiaTopoTest, ASecondMatrixIsNotMixedIn) {
  const std::string one = "\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n";
  const GpuTopology topology = Parse(one + one);
  EXPECT_EQ(topology.gpus.size(), 1U);
  EXPECT_THAT(topology.notes, ElementsAre("line 3: another matrix, which is not read"));
}

TEST(NvidiaTopoTest, AMissingRowIsReadFromTheOthers) {
  const GpuTopology topology = Parse(
      "\tGPU0\tGPU1\tCPU Affinity\n"
      "GPU0\t X \tPIX\t0-7\n");
  EXPECT_EQ(Texts(topology.between_gpus[1]), "PIX X");
  EXPECT_EQ(topology.gpus[1].cpu_list, "");
}

std::string Failure(const std::string& text) {
  try {
    Parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(NvidiaTopoTest, RowsThatDoNotFitTheHeaderAreRefused) {
  EXPECT_EQ(Failure("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \n"),
            "topo.txt:2:7: \"X\": expected 2 paths after GPU0, but the row ends here");
  // A blank cell moves the rest of the row to the left.
  EXPECT_EQ(Failure("\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\tX\tNV4\tNV4\t0\nGPU1\t\tX\tNV4\t0\n"),
            "topo.txt:3:7: \"X\": expected a path from GPU1 to GPU0: the row is shifted");
  EXPECT_EQ(Failure("\tGPU0\tCPU Affinity\nGPU0\tX\t0\nGPU0\tX\t0\n"),
            "topo.txt:3:1: \"GPU0\": expected one row only");
}

}  // namespace
}  // namespace hockney
