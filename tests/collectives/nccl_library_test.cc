#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/baselines/nccl/nccl_baseline.h"
#include "tests/collectives/thread_device.h"
#include "tests/requirements.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(NcclVersionTest, BothFormsOfNumbersAreRead) {
  EXPECT_EQ(NcclVersionText(22809), "2.28.9");
  EXPECT_EQ(NcclVersionText(21903), "2.19.3");
  EXPECT_EQ(NcclVersionText(20900), "2.9.0");
  EXPECT_EQ(NcclVersionText(2804), "2.8.4");
}

TEST(NcclLibraryTest, AMissingLibraryIsAReason) {
  EXPECT_THAT([] { NcclLibrary::Load("libno-such-nccl.so"); },
              ThrowsMessage<EnvironmentError>(HasSubstr("libno-such-nccl.so")));
}

TEST(NcclLibraryTest, ALibraryThatIsNoNcclIsRefusedByTheFunctionItLacks) {
  if (NcclHeaderVersion().empty()) GTEST_SKIP() << "built without nccl.h";
  EXPECT_THAT([] { NcclLibrary::Load("libm.so.6"); },
              ThrowsMessage<EnvironmentError>(HasSubstr("libm.so.6 has no ncclGetVersion")));
}

// Needs no GPU; making a communicator does.
TEST(NcclLibraryTest, ALibraryThatIsThereTellsItsVersion) {
  if (NcclHeaderVersion().empty()) GTEST_SKIP() << "built without nccl.h";
  std::string reason;
  try {
    const NcclLibrary library = NcclLibrary::Load("libnccl.so.2");
    EXPECT_TRUE(library.version().starts_with("2."));
    EXPECT_THAT(library.file(), HasSubstr("libnccl"));
  } catch (const EnvironmentError& error) {
    reason = error.what();
  }
  if (!reason.empty()) GTEST_SKIP() << reason;
}

TEST(NcclBaselineTest, WithoutAGpuThereIsAReason) {
  if (NcclHeaderVersion().empty()) GTEST_SKIP() << "built without nccl.h";
  RunThreadRanks(1, 20, [](Session& session) {
    const auto device = testing::MakeThreadDevice();
    try {
      const NcclBaseline nccl(session, *device, NcclLibrary::Load("libnccl.so.2"), {});
    } catch (const EnvironmentError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no NCCL"));
    }
  });
}

}  // namespace
}  // namespace hockney
