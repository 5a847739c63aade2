#include "topology/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "topology/cgroup.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Optional;

// A folder with made-up proc and sys, removed in the end.
class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    std::string name = (fs::temp_directory_path() / "hockney-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    root_ = name;
  }
  MachineTest(const MachineTest&) = delete;
  MachineTest& operator=(const MachineTest&) = delete;
  ~MachineTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void Write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(MachineTest, ThisMachineHasTheFactsEveryLinuxHas) {
  const Machine machine = ReadMachine();
  EXPECT_TRUE(machine.host_name.has_value());
  EXPECT_TRUE(machine.kernel.has_value());
  EXPECT_GE(machine.cpus_online.value(), machine.cpus_allowed.value());
  EXPECT_GE(machine.cpus_online.value(), machine.cores_online.value());
  EXPECT_GE(machine.cores_allowed.value(), 1);
  EXPECT_GT(machine.memory_total_bytes.value(), machine.memory_available_bytes.value());
  EXPECT_GE(machine.page_bytes.value(), 4096U);
  EXPECT_GT(AvailableMemory().bytes.value(), 0U);
}

TEST_F(MachineTest, MissingFactsAreEmpty) {
  const Machine machine = ReadMachine(root_);
  EXPECT_EQ(machine.boot_id, std::nullopt);
  EXPECT_EQ(machine.memory_total_bytes, std::nullopt);
  EXPECT_EQ(machine.memory_available_bytes, std::nullopt);
  EXPECT_EQ(machine.cgroup_memory_limit_bytes, std::nullopt);
  EXPECT_EQ(machine.transparent_hugepage, std::nullopt);
  EXPECT_EQ(machine.hugetlb_pages, std::nullopt);
  EXPECT_EQ(machine.ptrace_scope, std::nullopt);
  EXPECT_EQ(machine.hypervisor, std::nullopt);
  EXPECT_EQ(machine.governor, std::nullopt);
  EXPECT_FALSE(machine.nvidia_driver);
  EXPECT_EQ(AvailableMemory(root_).bytes, std::nullopt);
  EXPECT_EQ(ReadCgroupCpus(root_), std::nullopt);
}

TEST_F(MachineTest, ReadsTheFilesOfLinux) {
  Write("proc/meminfo", "MemTotal:       2000 kB\nMemFree: 7 kB\nMemAvailable:   1000 kB\n");
  Write("proc/cpuinfo", "processor : 0\nflags\t\t: fpu constant_tsc nonstop_tsc_s3 hypervisor\n");
  Write("proc/sys/kernel/yama/ptrace_scope", "1\n");
  Write("proc/sys/kernel/random/boot_id", "abc\n");
  Write("proc/sys/vm/nr_hugepages", "0\n");
  Write("proc/driver/nvidia/version", "NVRM\n");
  Write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  Write("sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "always within_size [advise] never deny force\n");
  const Machine machine = ReadMachine(root_);
  EXPECT_THAT(machine.memory_total_bytes, Optional(2000U * 1024));
  EXPECT_THAT(machine.memory_available_bytes, Optional(1000U * 1024));
  EXPECT_THAT(machine.boot_id, Optional(std::string("abc")));
  EXPECT_THAT(machine.ptrace_scope, Optional(1));
  EXPECT_THAT(machine.hugetlb_pages, Optional(0U));  // known to be none
  EXPECT_THAT(machine.hypervisor, Optional(true));
  EXPECT_THAT(machine.constant_tsc, Optional(true));
  EXPECT_THAT(machine.nonstop_tsc, Optional(false));
  EXPECT_THAT(machine.transparent_hugepage, Optional(std::string("madvise")));
  EXPECT_THAT(machine.transparent_hugepage_shmem, Optional(std::string("advise")));
  EXPECT_TRUE(machine.nvidia_driver);
}

TEST_F(MachineTest, Version2LimitOfAGroupAboveCounts) {
  Write("proc/meminfo", "MemAvailable: 1000 kB\n");
  Write("proc/self/cgroup", "0::/job/step\n");
  Write("sys/fs/cgroup/job/step/memory.max", "max\n");
  Write("sys/fs/cgroup/job/step/memory.current", "4096\n");
  Write("sys/fs/cgroup/job/memory.max", "100000\n");
  Write("sys/fs/cgroup/job/memory.current", "60000\n");
  Write("sys/fs/cgroup/job/memory.stat", "anon 50000\ninactive_file 10000\nactive_file 0\n");
  Write("sys/fs/cgroup/job/cpuset.cpus.effective", "2-3,8\n");
  EXPECT_THAT(ReadMachine(root_).cgroup_memory_limit_bytes, Optional(100000U));
  const MemoryLimit limit = AvailableMemory(root_);
  EXPECT_THAT(limit.bytes, Optional(50000U));
  EXPECT_THAT(limit.source, EndsWith("/job/memory.max"));
  EXPECT_THAT(ReadCgroupCpus(root_), Optional(ElementsAre(2, 3, 8)));
}

TEST_F(MachineTest, Version1LimitIsReadAndItsUnlimitedIsNone) {
  Write("proc/meminfo", "MemAvailable: 1000 kB\n");
  Write("proc/self/cgroup", "4:memory:/job\n3:cpuset:/\n1:name=systemd:/\n0::/\n");
  Write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
  EXPECT_EQ(ReadCgroupMemory(root_), std::nullopt);
  EXPECT_EQ(AvailableMemory(root_).source, "host memory");
  EXPECT_THAT(ReadCgroupCpus(root_), Optional(ElementsAre(0, 1)));

  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n");
  Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "10000\n");  // over it: nothing is left
  EXPECT_THAT(AvailableMemory(root_).bytes, Optional(0U));
}

TEST_F(MachineTest, ContainerSeesItsGroupAtTheMount) {
  Write("proc/self/cgroup", "0::/host/path/that/is/not/mounted\n");
  Write("sys/fs/cgroup/memory.max", "8192\n");
  Write("sys/fs/cgroup/memory.current", "0\n");
  EXPECT_THAT(AvailableMemory(root_).bytes, Optional(8192U));
}

TEST(TextFilesTest, CpuListsReadAsWritten) {
  EXPECT_THAT(ParseCpuList("0-2,8,10-11"), Optional(ElementsAre(0, 1, 2, 8, 10, 11)));
  EXPECT_THAT(ParseCpuList(""), Optional(ElementsAre()));
  for (const char* text : {"x", "1-", "3-1", "1,,2", "1,", "-1", "1-99999999", "1 2"}) {
    EXPECT_EQ(ParseCpuList(text), std::nullopt) << text;
  }
  EXPECT_EQ(FormatCpuList({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(FormatCpuList({}), "");
}

TEST(TextFilesTest, FindValueTakesWholeKeys) {
  const char* text = "total_inactive_file 9\ninactive_file 5\ninactive 1\nKey:   a b \n";
  EXPECT_THAT(FindValue(text, "inactive_file"), Optional(std::string("5")));
  EXPECT_THAT(FindValue(text, "inactive"), Optional(std::string("1")));
  EXPECT_THAT(FindValue(text, "Key"), Optional(std::string("a b")));
  EXPECT_EQ(FindValue(text, "file"), std::nullopt);
}

}  // namespace
}  // namespace hockney
