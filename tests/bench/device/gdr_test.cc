#include "bench/device/gdr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/collectives/thread_device.h"
#include "tests/scratch_folder.h"
#include "topology/session.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;

GdrFacts Complete() {
  return {.device_reason = "",
          .ucx_knows_gpus = true,
          .ucx_version = 118,
          .has_module = true,
          .has_dma_buf = false,
          .nics = 2,
          .to_nic = DevicePath{.level = GpuLevel::kPcieSwitch, .text = "PXB"}};
}

TEST(WhyNoGdrTest, NothingIsMissing) {
  GdrFacts facts = Complete();
  EXPECT_EQ(WhyNoGdr(facts), "");
  facts.has_module = false;
  facts.has_dma_buf = true;
  EXPECT_EQ(WhyNoGdr(facts), "") << "either will do";
  facts.ucx_version = 113;
  EXPECT_THAT(WhyNoGdr(facts), HasSubstr("UCX 1.14"));
  facts.ucx_version = 118;
  facts.to_nic.reset();
  EXPECT_EQ(WhyNoGdr(facts), "") << "a distance that is not known speaks against nothing";
}

TEST(WhyNoGdrTest, EachThingThatIsMissingIsNamed) {
  GdrFacts facts = Complete();
  facts.to_nic = DevicePath{.level = GpuLevel::kSocket, .text = "SYS"};
  EXPECT_THAT(WhyNoGdr(facts), HasSubstr("SYS (socket)"));
  facts.has_module = false;
  EXPECT_THAT(WhyNoGdr(facts), HasSubstr("nvidia_peermem"));
  facts.ucx_knows_gpus = false;
  EXPECT_THAT(WhyNoGdr(facts), HasSubstr("UCX 1.18 was built without CUDA"));
  facts.device_reason = "GPU 0 cannot";
  EXPECT_EQ(WhyNoGdr(facts), "GPU 0 cannot");
  facts.nics = 0;
  EXPECT_EQ(WhyNoGdr(facts), "no RDMA network card");
}

TEST(FindGdrFactsTest, ModuleCardsAndDistanceAreLookedFor) {
  const testing::ScratchFolder folder;
  const std::filesystem::path sysfs = folder.Path("sys");
  std::filesystem::create_directories(sysfs / "module/nvidia_peermem");
  std::filesystem::create_directories(sysfs / "class/infiniband/mlx5_0");
  const auto device = testing::MakeThreadDevice();
  GpuTopology gpus;
  gpus.gpus = {{.name = "GPU0", .bus_id = device->id()}};
  gpus.nics = {{.name = "NIC0"}, {.name = "NIC1"}};
  gpus.to_nics = {{{.level = GpuLevel::kSocket, .text = "SYS"},
                   {.level = GpuLevel::kHostBridge, .text = "PHB"}}};
  RunThreadRanks(1, 20, [&](Session& session) {
    const UcxWire wire(session, {"here"});
    const GdrFacts facts = FindGdrFacts(*device, wire, gpus, sysfs);
    EXPECT_TRUE(facts.has_module);
    EXPECT_EQ(facts.nics, 1);
    EXPECT_EQ(facts.to_nic->text, "PHB");
    EXPECT_FALSE(facts.device_reason.empty());
    EXPECT_FALSE(FindGdrFacts(*device, wire, gpus, folder.Path("none")).has_module);
  });
}

}  // namespace
}  // namespace hockney
