// What gpu_check runs, on threads of this CPU instead of a GPU.
#include "tests/gpu/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/collectives/thread_device.h"
#include "topology/check.h"

namespace hockney::testing {
namespace {

using enum SectionResult::Status;
using ::testing::HasSubstr;

SectionOptions OnThreads(const ThreadDeviceOptions& device = {}) {
  SectionOptions options;
  options.open = [device] { return std::shared_ptr<Device>(MakeThreadDevice(device)); };
  options.kind = PeerMemoryKind::kFileDescriptor;
  options.threads = 1;
  options.most_ranks = 3;
  options.program = "/bin/true";
  options.most_bytes = std::size_t{64} << 10;
  return options;
}

const Section& Find(const char* name) {
  for (const Section& section : AllSections()) {
    if (std::strcmp(section.name, name) == 0) return section;
  }
  throw std::out_of_range(name);
}

class SectionTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SectionTest, PassesOnThreads) {
  const SectionResult result = RunSection(Find(GetParam()), OnThreads(), 240);
  EXPECT_EQ(result.status, kPassed) << result.text;
  const bool compares =
      std::strcmp(GetParam(), "open") != 0 && std::strcmp(GetParam(), "speed") != 0;
  EXPECT_EQ(result.checks > 0, compares);
}
INSTANTIATE_TEST_SUITE_P(Sections, SectionTest,
                         ::testing::Values("open", "small", "rows", "types", "counters", "graph",
                                           "lost_peer", "processes_ipc", "processes_file", "speed"),
                         [](const auto& of) { return std::string(of.param); });

TEST(SectionsTest, AWrongByteFailsEverySectionThatCompares) {
  for (const char* name : {"small", "types", "graph", "processes_file"}) {
    const SectionResult result = RunSection(Find(name), OnThreads({.corrupts = true}), 240);
    EXPECT_EQ(result.status, kFailed) << name;
  }
}

TEST(SectionsTest, WithoutADeviceEverythingIsSkippedWithTheReason) {
  SectionOptions options = OnThreads();
  options.open = []() -> std::shared_ptr<Device> { throw EnvironmentError("no GPU 0: none"); };
  options.nccl = "libno-such-nccl.so";
  for (const Section& section : AllSections()) {
    const std::string name = section.name;
    if (name.ends_with("check")) continue;  // of the tool
    const SectionResult result = RunSection(section, options, 60);
    EXPECT_EQ(result.status, kSkipped) << name;
    EXPECT_THAT(result.text, HasSubstr(name == "nccl" ? "libno-such-nccl.so" : "no GPU 0: none"));
  }
}

TEST(SectionsTest, ASectionThatCrashesOrHangsFailsAlone) {
  const Section crashes{"crashes", "",
                        [](const SectionOptions&) -> SectionResult { std::abort(); }};
  EXPECT_EQ(RunSection(crashes, OnThreads(), 10).status, kFailed);
  const Section hangs{"hangs", "", [](const SectionOptions&) -> SectionResult {
                        while (true) continue;
                      }};
  const SectionResult result = RunSection(hangs, OnThreads(), 1);
  EXPECT_EQ(result.status, kFailed);
  EXPECT_THAT(result.text, HasSubstr("not done after 1 s"));
}

}  // namespace
}  // namespace hockney::testing
