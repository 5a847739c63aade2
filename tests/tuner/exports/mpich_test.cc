#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tuner/exports/mpi_tuning.h"
#include "tuner/exports/exports.h"
#include "tuner/exports/mpich_selection.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MpiRuleFrom;
using testing::MpiTable;

constexpr const char* kMpich = "library=MPICH 4.0.2";

// A small library: its own choice is one leaf a collective.
MpichSelection SmallSelection() {
  const auto own = [](const char* leaf) {
    return Json{{"comm_type=intra", Json{{leaf, Json::object()}}},
                {"comm_type=inter", Json{{"algorithm=MPIR_inter", Json::object()}}}};
  };
  Json general;
  for (const char* collective : {"allreduce", "allgather", "gather", "alltoall", "barrier"}) {
    general[std::string("collective=") + collective] = own("algorithm=MPIR_own");
  }
  const Json device = {{"collective=allreduce", own("composition=MPIDI_own")},
                       {"collective=barrier", own("composition=MPIDI_own")}};
  return {.general = general.dump(), .device = device.dump(), .source = "libmpich.so"};
}

Json Intra(const Exported& exported, std::size_t file, const std::string& collective) {
  return Json::parse(exported.files.at(file).text)["collective=" + collective]["comm_type=intra"];
}

const Json kOwn = {{"algorithm=MPIR_own", Json::object()}};
const Json kDoubling = {{"algorithm=MPIR_Allreduce_intra_recursive_doubling", Json::object()}};

Tuning AllReduceOf4() {
  return {.tables = {MpiTable(Collective::kAllReduce, 4,
                              {MpiRuleFrom(0, "recursive_doubling", kMpich),
                               MpiRuleFrom(4097, "default", kMpich)})}};
}

TEST(ExportMpichTest, OnlyMeasuredRanksHaveRulesAndEveryLevelEndsInAny) {
  const Exported exported = ExportMpich(AllReduceOf4(), SmallSelection());
  ASSERT_EQ(exported.files.size(), 2U);
  const Json expected = {
      {"comm_size<=3", kOwn},
      {"comm_size<=4", Json{{"avg_msg_size<=4096", kDoubling}, {"avg_msg_size=any", kOwn}}},
      {"comm_size=any", kOwn}};
  EXPECT_EQ(Intra(exported, 0, "allreduce").dump(), expected.dump()) << "in this order";
  const Json all = Json::parse(exported.files[0].text);
  EXPECT_EQ(all.size(), 5U) << "the choice of every other collective stays";
  EXPECT_TRUE(all["collective=allreduce"].contains("comm_type=inter"));
  EXPECT_EQ(Intra(exported, 0, "barrier"), kOwn);
}

TEST(ExportMpichTest, TheDevicePassesOnWhatHasARuleAndKeepsTheRest) {
  const Exported exported = ExportMpich(AllReduceOf4(), SmallSelection());
  const Json own = {{"composition=MPIDI_own", Json::object()}};
  const Json on = {{"composition=MPIDI_Allreduce_intra_composition_beta", Json::object()}};
  const Json expected = {
      {"comm_size<=3", own},
      {"comm_size<=4", Json{{"avg_msg_size<=4096", on}, {"avg_msg_size=any", own}}},
      {"comm_size=any", own}};
  EXPECT_EQ(Intra(exported, 1, "allreduce").dump(), expected.dump());
  EXPECT_EQ(Intra(exported, 1, "barrier"), own);
  EXPECT_THAT(exported.notes, Contains(HasSubstr("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE")));
}

TEST(ExportMpichTest, OtherVersionsAreToldToLeaveTheDeviceOut) {
  Tuning tuning = AllReduceOf4();
  for (TuningRule& rule : tuning.tables[0].rules) rule.parameters = "library=MPICH 4.3.0";
  const Exported exported = ExportMpich(tuning, SmallSelection());
  EXPECT_EQ(exported.files.size(), 1U);
  EXPECT_THAT(exported.notes, Contains(HasSubstr("MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0")));
}

TEST(ExportMpichTest, SizesAreMeasuredAsMpichMeasuresThem) {
  Tuning tuning;
  for (const Collective collective :
       {Collective::kAllGather, Collective::kGather, Collective::kAllToAll}) {
    const std::string name = collective == Collective::kAllGather ? "ring" : "nb";
    tuning.tables.push_back(MpiTable(
        collective, 2, {MpiRuleFrom(0, "default", kMpich), MpiRuleFrom(4096, name, kMpich)}));
  }
  const Exported exported = ExportMpich(tuning, SmallSelection());
  const auto first_key = [&](const std::string& collective) {
    return Intra(exported, 0, collective)["comm_size<=2"].begin().key();
  };
  EXPECT_EQ(first_key("allgather"), "total_msg_size<=4095");
  EXPECT_EQ(first_key("alltoall"), "total_msg_size<=4095");
  EXPECT_EQ(first_key("gather"), "total_msg_size<=1023") << "elements of float32";
}

TEST(ExportMpichTest, SizesBeyond32BitAreTheCatchAll) {
  const Tuning tuning{.tables = {MpiTable(Collective::kAllReduce, 2,
                                          {MpiRuleFrom(0, "default", kMpich),
                                           MpiRuleFrom(64, "recursive_doubling", kMpich),
                                           MpiRuleFrom(std::uint64_t{1} << 33, "nb", kMpich)})}};
  const Exported exported = ExportMpich(tuning, SmallSelection());
  const Json expected = {{"avg_msg_size<=63", kOwn}, {"avg_msg_size=any", kDoubling}};
  EXPECT_EQ(Intra(exported, 0, "allreduce")["comm_size<=2"].dump(), expected.dump());
  EXPECT_THAT(exported.notes, Contains(HasSubstr("2^31-1")));
}

// B36: a leaf is used without a further look, so what it needs stands before it.
TEST(ExportMpichTest, AnAlgorithmIsGuardedByWhatItNeeds) {
  const Tuning tuning{
      .tables = {
          MpiTable(Collective::kAllReduce, 2, {MpiRuleFrom(0, "reduce_scatter_allgather", kMpich)}),
          MpiTable(Collective::kAllReduce, 3, {MpiRuleFrom(0, "smp", kMpich)}),
          MpiTable(Collective::kAllToAll, 2, {MpiRuleFrom(0, "pairwise", kMpich)})}};
  const Exported exported = ExportMpich(tuning, SmallSelection());
  const Json halves = {
      {"is_op_built_in=yes",
       Json{{"count<pow2", kOwn},
            {"count=any",
             Json{{"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather", Json::object()}}}}},
      {"is_op_built_in=no", kOwn}};
  EXPECT_EQ(Intra(exported, 0, "allreduce")["comm_size<=2"].dump(), halves.dump());
  const Json smp = {
      {"is_commutative=yes",
       Json{{"comm_hierarchy=parent", Json{{"algorithm=MPIR_Allreduce_intra_smp", Json::object()}}},
            {"comm_hierarchy=any", kOwn}}},
      {"is_commutative=no", kOwn}};
  EXPECT_EQ(Intra(exported, 0, "allreduce")["comm_size<=3"].dump(), smp.dump());
  EXPECT_EQ(Intra(exported, 0, "alltoall")["comm_size<=2"]["is_sendbuf_inplace=yes"], kOwn);
}

TEST(ExportMpichTest, WithoutTheLibraryThereIsNoFile) {
  const Exported exported = ExportMpich(AllReduceOf4(), MpichSelection{});
  EXPECT_TRUE(exported.files.empty());
  EXPECT_THAT(exported.notes, Contains(HasSubstr("libmpich.so")));
}

TEST(ExportMpichTest, RulesOfOpenMpiAreNotMpichs) {
  const Tuning tuning{.tables = {MpiTable(Collective::kAllReduce, 4, {MpiRuleFrom(0, "ring")})}};
  const Exported exported = ExportMpich(tuning, SmallSelection());
  EXPECT_TRUE(exported.files.empty());
  EXPECT_THAT(exported.notes, Contains(HasSubstr("no rule was measured with it")));
}

TEST(ExportMpichTest, TheSelectionIsFoundInTheBytesOfALibrary) {
  const std::string general = R"({"collective=bcast":{"algorithm=MPIR_x":{}}})";
  const std::string device = R"({"collective=bcast":{"composition=MPIDI_x":{}}})";
  const std::string other = R"({"collective=bcast":{"algorithm=MPIDI_POSIX_x":{}}})";
  std::string bytes =
      "\x7f"
      "ELF";
  for (const std::string& text : {other, device, general}) bytes += '\0' + text + '\0';
  const MpichSelection found = FindMpichSelection(bytes);
  EXPECT_EQ(found.general, general);
  EXPECT_EQ(found.device, device);
  EXPECT_EQ(FindMpichSelection("nothing").general, "");
}

}  // namespace
}  // namespace hockney
