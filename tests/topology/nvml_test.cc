#include "topology/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/scratch_folder.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// A tree like sysfs's: GPUs 0 and 1 and card mlx5_0 behind one switch, GPU 2 alone, GPU 3 and card
// mlx5_1 behind one host bridge.
class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() {
    const fs::path devices = folder_.path() / "devices";
    AddDevice("0000:04:00.0", devices / "pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:00.0", 0);
    AddDevice("0000:05:00.0", devices / "pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:01.0", 0);
    AddDevice("0000:06:00.0", devices / "pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:02.0", 0);
    AddDevice("0000:a4:00.0", devices / "pci0000:a0/0000:a0:01.0", 1);
    AddDevice("0000:a5:00.0", devices / "pci0000:b0/0000:b0:01.0", 1);
    AddDevice("0000:a6:00.0", devices / "pci0000:b0/0000:b0:02.0", 1);
    AddCard("mlx5_0", "0000:06:00.0");
    AddCard("mlx5_1", "0000:a6:00.0");
    Write(sources_.infiniband / "mlx5_0" / "ports" / "1" / "rate", "400 Gb/sec (4X NDR)\n");
  }
  void AddDevice(const std::string& bus_id, const fs::path& bridges, int numa) {
    const fs::path path = bridges / bus_id;
    Write(path / "numa_node", std::to_string(numa) + "\n");
    Write(path / "local_cpulist", numa == 0 ? "0-7\n" : "8-15\n");
    fs::create_directories(sources_.pci_devices);
    fs::create_directory_symlink(path, sources_.pci_devices / bus_id);
  }
  void AddCard(const std::string& name, const std::string& bus_id) {
    fs::create_directories(sources_.infiniband / name);
    fs::create_directory_symlink(fs::canonical(sources_.pci_devices / bus_id),
                                 sources_.infiniband / name / "device");
  }

  testing::ScratchFolder folder_;
  NvmlSources sources_{.library = HOCKNEY_FAKE_NVML,
                       .pci_devices = folder_.path() / "bus",
                       .infiniband = folder_.path() / "infiniband"};
};

std::vector<std::string> Texts(const std::vector<DevicePath>& paths) {
  std::vector<std::string> texts;
  texts.reserve(paths.size());
  for (const DevicePath& path : paths) texts.push_back(path.text);
  return texts;
}

TEST_F(NvmlTest, LinksSwitchesAndBridgesBecomePaths) {
  const GpuTopology topology = ReadNvmlTopology(sources_);
  EXPECT_EQ(topology.unknown_because, "");
  EXPECT_EQ(topology.source, "NVML, driver 580.1");
  EXPECT_THAT(topology.notes, ::testing::IsEmpty());
  ASSERT_EQ(topology.gpus.size(), 4u);
  EXPECT_EQ(topology.gpus[2].bus_id, "0000:a4:00.0");
  EXPECT_EQ(topology.gpus[2].numa_node, 1);
  EXPECT_EQ(topology.gpus[0].cpu_list, "0-7");
  EXPECT_THAT(Texts(topology.between_gpus[0]), ElementsAre("X", "NV6", "SYS", "NODE"));
  EXPECT_THAT(Texts(topology.between_gpus[3]), ElementsAre("NODE", "SYS", "NV12", "X"));
  ASSERT_EQ(topology.nics.size(), 2u);
  EXPECT_EQ(topology.nics[0].device, "mlx5_0");
  EXPECT_EQ(topology.nics[0].gbit_s, 400);
  EXPECT_FALSE(topology.nics[1].gbit_s);
  EXPECT_THAT(Texts(topology.to_nics[0]), ElementsAre("PIX", "SYS"));
  EXPECT_THAT(Texts(topology.to_nics[2]), ElementsAre("SYS", "NODE"));
  EXPECT_THAT(Texts(topology.to_nics[3]), ElementsAre("SYS", "PHB"));
  EXPECT_THAT(NearestNics(topology, 3), ElementsAre(1));
}

TEST_F(NvmlTest, WithoutADriverThereIsAReason) {
  setenv("FAKE_NVML_FAILS", "1", 1);
  const GpuTopology topology = ReadNvmlTopology(sources_);
  unsetenv("FAKE_NVML_FAILS");
  EXPECT_EQ(topology.unknown_because, "NVML: Driver Not Loaded");
  EXPECT_TRUE(topology.gpus.empty());
}

TEST(NvmlLibraryTest, AMissingLibraryAndOneThatIsAnotherAreReasons) {
  EXPECT_THAT(ReadNvmlTopology({.library = "libno-such-nvml.so"}).unknown_because,
              HasSubstr("libno-such-nvml.so"));
  EXPECT_THAT(ReadNvmlTopology({.library = "libm.so.6"}).unknown_because,
              HasSubstr("libm.so.6 has no nvml"));
}

TEST(PciPathTest, BridgesAreCountedAsNvidiaSmiDoes) {
  const auto path = [](const char* a, const char* b, int numa_a = 0, int numa_b = 0) {
    return FindPciPath(a, numa_a, b, numa_b).text;
  };
  constexpr const char* kGpu = "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:00.0/g";
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:01.0/n"), "PIX");
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:01.0/x/y/n"),
            "PXB");
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:01.0/x/n"),
            "PXB");
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:00/0000:00:02.0/n"), "PHB");
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:80/0000:80:02.0/n"), "NODE");
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:80/0000:80:02.0/n", 0, 1), "SYS");
  EXPECT_EQ(path(kGpu, "/sys/devices/pci0000:80/0000:80:02.0/n", -1, -1), "SYS");
  EXPECT_EQ(path("", "", -1, -1), "SYS");
}

}  // namespace
}  // namespace hockney
