// Calls libnccl-tuner-hockney.so as libnccl does: by its data symbols, with a flat table.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/scratch_folder.h"
#include "tuner/plugin/nccl_rules.h"
#include "tuner/plugin/tuner_abi.h"

namespace hockney {
namespace {

namespace abi = tuner_abi;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr int kBroadcast = 0;
constexpr int kAllGather = 2;
constexpr int kAllReduce = 4;
constexpr int kAlgorithms = 7;
constexpr int kProtocols = 3;

struct Message {
  int level = 0;
  unsigned long subsystems = 0;
  std::string text;
};

// What the logger heard; NCCL passes a plain function, so there is nowhere else to keep it.
struct Log {
  std::mutex mutex;
  std::vector<Message> messages;
};
Log& TheLog() {
  static Log log;
  return log;
}

void Record(int level, unsigned long subsystems, const char* /*file*/, int /*line*/,
            const char* format, ...) {
  std::array<char, 1024> text{};
  va_list arguments;
  va_start(arguments, format);
  static_cast<void>(std::vsnprintf(text.data(), text.size(), format, arguments));
  va_end(arguments);
  const std::scoped_lock lock(TheLog().mutex);
  TheLog().messages.push_back({level, subsystems, text.data()});
}

std::vector<Message> Warnings() {
  std::vector<Message> warnings;
  for (const Message& each : TheLog().messages) {
    if (each.level == abi::kWarn) warnings.push_back(each);
  }
  return warnings;
}

// A table of costs whose last entry is the last before a page that must not be touched.
class GuardedTable {
 public:
  GuardedTable(int algorithms, int protocols, float cost)
      : algorithms_(algorithms), protocols_(protocols), page_(sysconf(_SC_PAGESIZE)) {
    pages_ =
        static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(pages_ + page_, page_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    const std::size_t bytes = sizeof(float) * algorithms * protocols;
    costs_ = reinterpret_cast<float*>(pages_ + 2 * page_ - bytes);
    for (int i = 0; i < algorithms * protocols; ++i) costs_[i] = cost;
  }
  GuardedTable(const GuardedTable&) = delete;
  GuardedTable& operator=(const GuardedTable&) = delete;
  ~GuardedTable() { munmap(pages_, 3 * page_); }

  float** as_passed() { return reinterpret_cast<float**>(costs_); }
  float& at(int algorithm, int protocol) { return costs_[algorithm * protocols_ + protocol]; }
  std::vector<float> all() const { return {costs_, costs_ + algorithms_ * protocols_}; }

 private:
  int algorithms_;
  int protocols_;
  std::size_t page_;
  char* pages_ = nullptr;
  float* costs_ = nullptr;
};

class NcclTunerTest : public ::testing::Test {
 protected:
  NcclTunerTest() : library_(dlopen(HOCKNEY_TUNER_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
    TheLog().messages.clear();
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    v5_ = static_cast<const abi::PluginV5*>(dlsym(library_, "ncclTunerPlugin_v5"));
    v4_ = static_cast<const abi::PluginV4*>(dlsym(library_, "ncclTunerPlugin_v4"));
    if (v5_ == nullptr || v4_ == nullptr) throw std::runtime_error("no plugin");
    unsetenv("NCCL_TUNER_CONFIG_FILE");
  }
  ~NcclTunerTest() override { dlclose(library_); }

  void WriteRules(const std::string& text) {
    std::ofstream(path()) << text;
    setenv("NCCL_TUNER_CONFIG_FILE", path().c_str(), 1);
  }
  std::string path() const { return folder_.Path("rules.csv"); }

  void* Init(std::size_t ranks = 8, std::size_t nodes = 1, abi::Logger logger = Record) {
    void* context = nullptr;
    std::array<int, 3> domains = {1, 8, 8};
    EXPECT_EQ(v5_->init(&context, 77, ranks, nodes, logger, domains.data(), nullptr), 0);
    return context;
  }

  // The entry that a call sets to 0, as algorithm * 3 + protocol; -1 if none.
  int Chosen(void* context, int function, std::size_t bytes, int* channels = nullptr) {
    GuardedTable table(kAlgorithms, kProtocols, 5.0F);
    int unused = 0;
    EXPECT_EQ(v5_->get_coll_info(context, function, bytes, 1, table.as_passed(), kAlgorithms,
                                 kProtocols, 0, channels == nullptr ? &unused : channels),
              0);
    int chosen = -1;
    const std::vector<float> all = table.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == 0.0F) {
        EXPECT_EQ(chosen, -1) << "two were chosen";
        chosen = static_cast<int>(i);
      } else {
        EXPECT_EQ(all[i], 5.0F);
      }
    }
    return chosen;
  }

  ScratchFolder folder_;
  void* library_;
  const abi::PluginV5* v5_ = nullptr;
  const abi::PluginV4* v4_ = nullptr;
};

constexpr int kRingLl = 3;
constexpr int kRingSimple = 5;
constexpr int kNvlsSimple = 14;
constexpr int kPatSimple = 20;

TEST_F(NcclTunerTest, EveryBoundaryIsInclusive) {
  WriteRules(
      "allreduce,0,65536,ring,ll,-1,1,8\n"
      "allreduce,65537,1048576,nvls,simple,-1,1,8\n"
      "allgather,8589934592,1099511627776,pat,simple,-1,1,8\n");
  void* const context = Init();
  EXPECT_EQ(Chosen(context, kAllReduce, 0), kRingLl);
  EXPECT_EQ(Chosen(context, kAllReduce, 65535), kRingLl);
  EXPECT_EQ(Chosen(context, kAllReduce, 65536), kRingLl);
  EXPECT_EQ(Chosen(context, kAllReduce, 65537), kNvlsSimple);
  EXPECT_EQ(Chosen(context, kAllReduce, 1048575), kNvlsSimple);
  EXPECT_EQ(Chosen(context, kAllReduce, 1048576), kNvlsSimple);
  EXPECT_EQ(Chosen(context, kAllReduce, 1048577), -1);
  EXPECT_EQ(Chosen(context, kAllGather, 8589934591), -1);
  EXPECT_EQ(Chosen(context, kAllGather, 8589934592), kPatSimple);
  EXPECT_EQ(Chosen(context, kAllGather, 1099511627776), kPatSimple);
  EXPECT_EQ(Chosen(context, kAllGather, 1099511627777), -1);
  EXPECT_EQ(Chosen(context, kBroadcast, 0), -1);
  EXPECT_EQ(Chosen(context, 5, 0), -1);
  EXPECT_EQ(Chosen(context, -1, 0), -1);
  EXPECT_EQ(v5_->finalize(context), 0);
}

TEST_F(NcclTunerTest, ChannelsStayUnlessTheRuleNamesThem) {
  WriteRules("allreduce,0,10,ring,ll,-1,1,8\nallreduce,11,20,ring,ll,12,1,8\n");
  void* const context = Init();
  int channels = 0;
  EXPECT_EQ(Chosen(context, kAllReduce, 10, &channels), kRingLl);
  EXPECT_EQ(channels, 0);
  EXPECT_EQ(Chosen(context, kAllReduce, 21, &channels), -1);
  EXPECT_EQ(channels, 0);
  EXPECT_EQ(Chosen(context, kAllReduce, 11, &channels), kRingLl);
  EXPECT_EQ(channels, 12);
  v5_->finalize(context);
}

TEST_F(NcclTunerTest, WhatNcclCannotDoIsNotForced) {
  WriteRules("allreduce,0,10,nvls,simple,16,1,8\n");
  void* const context = Init();
  GuardedTable table(kAlgorithms, kProtocols, -1.0F);
  table.at(1, 2) = 9.0F;
  const std::vector<float> before = table.all();
  int channels = 0;
  EXPECT_EQ(v5_->get_coll_info(context, kAllReduce, 10, 1, table.as_passed(), kAlgorithms,
                               kProtocols, 1, &channels),
            0);
  EXPECT_EQ(table.all(), before);
  EXPECT_EQ(channels, 0);
  v5_->finalize(context);
}

TEST_F(NcclTunerTest, TablesOfOtherShapesAreKeptWithin) {
  WriteRules("allreduce,0,10,pat,simple,-1,1,8\nallreduce,11,20,ring,simple,-1,1,8\n");
  void* const context = Init();
  for (const auto& [algorithms, protocols] : {std::pair{6, 3}, {7, 2}, {1, 1}, {0, 0}, {9, 4}}) {
    GuardedTable table(algorithms, protocols, 5.0F);
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{20}}) {
      int channels = 0;
      EXPECT_EQ(v5_->get_coll_info(context, kAllReduce, bytes, 1, table.as_passed(), algorithms,
                                   protocols, 0, &channels),
                0);
    }
    if (algorithms != 9) continue;
    EXPECT_EQ(table.at(6, 2), 0.0F);
    EXPECT_EQ(table.at(1, 2), 0.0F);
  }
  EXPECT_EQ(v5_->get_coll_info(context, kAllReduce, 10, 1, nullptr, 7, 3, 0, nullptr), 0);
  GuardedTable table(kAlgorithms, kProtocols, 5.0F);
  EXPECT_EQ(v5_->get_coll_info(nullptr, kAllReduce, 10, 1, table.as_passed(), 7, 3, 0, nullptr), 0);
  EXPECT_EQ(v5_->get_coll_info(context, kAllReduce, 10, 1, table.as_passed(), 7, 3, 0, nullptr), 0);
  EXPECT_EQ(table.at(6, 2), 0.0F);
  v5_->finalize(context);
}

TEST_F(NcclTunerTest, OnlyRulesOfTheCommunicatorsShapeCount) {
  WriteRules("allreduce,0,10,ring,ll,-1,1,8\nallreduce,0,10,ring,simple,-1,2,16\n");
  void* const eight = Init(8, 1);
  void* const sixteen = Init(16, 2);
  void* const other = Init(16, 1);
  EXPECT_EQ(Chosen(eight, kAllReduce, 1), kRingLl);
  EXPECT_EQ(Chosen(sixteen, kAllReduce, 1), kRingSimple);
  EXPECT_EQ(Chosen(other, kAllReduce, 1), -1);
  EXPECT_THAT(TheLog().messages.at(0).text,
              AllOf(HasSubstr("1 of 2 rules count for 8 ranks on 1 nodes"), HasSubstr(path()),
                    HasSubstr(HashOfNcclRules("allreduce,0,10,ring,ll,-1,1,8\n"
                                              "allreduce,0,10,ring,simple,-1,2,16\n"))));
  EXPECT_EQ(TheLog().messages.at(0).level, abi::kInfo);
  EXPECT_NE(TheLog().messages.at(0).subsystems & abi::kSubsystemTuning, 0U);
  for (void* const each : {eight, sixteen, other}) v5_->finalize(each);
}

TEST_F(NcclTunerTest, Version4AnswersAlike) {
  WriteRules("allreduce,0,10,ring,ll,3,1,8\n");
  void* context = nullptr;
  EXPECT_EQ(v4_->init(8, 1, Record, &context), 0);
  GuardedTable table(kAlgorithms, kProtocols, 5.0F);
  int channels = 0;
  EXPECT_EQ(v4_->get_coll_info(context, kAllReduce, 10, 1, table.as_passed(), kAlgorithms,
                               kProtocols, 0, &channels),
            0);
  EXPECT_EQ(table.at(1, 0), 0.0F);
  EXPECT_EQ(channels, 3);
  EXPECT_EQ(v4_->destroy(context), 0);
  EXPECT_STREQ(v4_->name, "hockney");
  EXPECT_STREQ(v5_->name, "hockney");
}

TEST_F(NcclTunerTest, B34ABadFileGivesNoRuleAndOneWarning) {
  WriteRules("allreduce,0,10,ring,ll,-1,1,8\nallreduce,11,20,rings,ll,-1,1,8\n");
  void* const context = Init();
  ASSERT_EQ(Warnings().size(), 1U);
  EXPECT_EQ(TheLog().messages.size(), 1U);
  EXPECT_THAT(Warnings()[0].text, AllOf(HasSubstr(path() + ":2:17: \"rings\": expected tree, "),
                                        HasSubstr("no rules, NCCL chooses by itself")));
  EXPECT_EQ(Chosen(context, kAllReduce, 5), -1);
  EXPECT_EQ(Warnings().size(), 1U);
  v5_->finalize(context);
}

TEST_F(NcclTunerTest, AMissingFileGivesNoRuleAndOneWarning) {
  setenv("NCCL_TUNER_CONFIG_FILE", path().c_str(), 1);
  void* const context = Init();
  ASSERT_EQ(Warnings().size(), 1U);
  EXPECT_THAT(Warnings()[0].text, HasSubstr(path() + ": cannot be read: No such file"));
  EXPECT_EQ(Chosen(context, kAllReduce, 5), -1);
  v5_->finalize(context);

  TheLog().messages.clear();
  unsetenv("NCCL_TUNER_CONFIG_FILE");
  void* const unset = Init();
  ASSERT_EQ(Warnings().size(), 1U);
  EXPECT_THAT(Warnings()[0].text, HasSubstr("NCCL_TUNER_CONFIG_FILE is not set"));
  v5_->finalize(unset);
}

TEST_F(NcclTunerTest, WithoutLoggerTheWarningGoesToStderr) {
  WriteRules("nonsense\n");
  ::testing::internal::CaptureStderr();
  void* const context = Init(8, 1, nullptr);
  const std::string bad = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(bad, HasSubstr(path() + ":1:9: \"\": expected 8 to 10 fields"));
  EXPECT_EQ(std::count(bad.begin(), bad.end(), '\n'), 1);
  v5_->finalize(context);

  WriteRules("allreduce,0,10,ring,ll,-1,1,8\n");
  ::testing::internal::CaptureStderr();
  void* const good = Init(8, 1, nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(Chosen(good, kAllReduce, 1), kRingLl);
  v5_->finalize(good);
}

// The constants are NCCL's own: init may change them, and must not.
TEST_F(NcclTunerTest, NcclsConstantsStay) {
  WriteRules("allreduce,0,10,ring,ll,-1,1,8\n");
  constexpr std::size_t kDoubles = 7 * 3 + 3 * 7 * 3 + 5 * 4 * 3;
  std::vector<double> constants(kDoubles, 1.5);
  void* context = nullptr;
  v5_->init(&context, 1, 8, 1, Record, nullptr, constants.data());
  EXPECT_EQ(constants, std::vector<double>(kDoubles, 1.5));
  v5_->finalize(context);
  EXPECT_EQ(v5_->finalize(nullptr), 0);
  EXPECT_EQ(v5_->init(nullptr, 1, 8, 1, Record, nullptr, nullptr), 0);
}

TEST_F(NcclTunerTest, EightRanksAndTheirThreadsChooseAlike) {
  WriteRules(
      "allreduce,0,4095,ring,ll,-1,1,8\nallreduce,4096,65535,tree,ll,2,1,8\n"
      "allreduce,65536,18446744073709551615,nvls,simple,16,1,8\n");
  std::array<void*, 8> ranks{};
  for (void*& rank : ranks) rank = Init();
  const auto answers = [&](void* context, int registered) {
    std::vector<std::vector<float>> all;
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40); bytes = bytes * 3 + 1) {
      GuardedTable table(kAlgorithms, kProtocols, 5.0F);
      int channels = 0;
      v5_->get_coll_info(context, kAllReduce, bytes, 1, table.as_passed(), kAlgorithms, kProtocols,
                         registered, &channels);
      all.push_back(table.all());
      all.back().push_back(static_cast<float>(channels));
    }
    return all;
  };
  const auto expected = answers(ranks[0], 0);
  std::array<std::vector<std::vector<float>>, 16> found;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] { found[i] = answers(ranks[i % 8], static_cast<int>(i % 2)); });
    }
  }
  for (const auto& each : found) EXPECT_EQ(each, expected);
  for (void* const rank : ranks) v5_->finalize(rank);
}

}  // namespace
}  // namespace hockney
