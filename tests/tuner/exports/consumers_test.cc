// The files that hockney writes, read by the libraries they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tests/tuner/exports/mpi_tuning.h"
#include "tuner/exports/exports.h"
#include "tuner/exports/mpich_selection.h"
#include "tuner/exports/ompi_rules.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::MpiRuleFrom;
using testing::MpirunWords;
using testing::MpiTable;
using testing::Outcome;
using testing::RunShell;
using testing::ScratchFolder;

constexpr int kRanks = 4;
constexpr std::uint64_t kBoundary = 4096;  // of the size column

// The collectives whose size a library looks at: one algorithm of each library, its name in MPI,
// and the size column's step of one element a rank.
struct Known {
  Collective collective = Collective::kAllReduce;
  const char* name = "";
  const char* open_mpi = "";
  const char* mpich = "";
  std::uint64_t step = 4;
};
constexpr Known kKnown[] = {
    {Collective::kAllReduce, "allreduce", "ring", "recursive_doubling", 4},
    {Collective::kBroadcast, "bcast", "binomial", "binomial", 4},
    {Collective::kReduce, "reduce", "binomial", "binomial", 4},
    {Collective::kAllGather, "allgather", "ring", "ring", 16},
    {Collective::kAllToAll, "alltoall", "pairwise", "pairwise", 16},
    {Collective::kGather, "gather", "binomial", "binomial", 16},
    {Collective::kScatter, "scatter", "binomial", "binomial", 16},
    {Collective::kReduceScatter, "reduce_scatter_block", "butterfly", "pairwise", 16},
};

// The library's choice below the boundary, an algorithm from there on.
Tuning TuneAll(bool for_mpich) {
  const std::string library = for_mpich ? "library=MPICH 4.0.2" : "library=Open MPI 4.1.4";
  Tuning tuning;
  for (const Known& known : kKnown) {
    tuning.tables.push_back(
        MpiTable(known.collective, kRanks,
                 {MpiRuleFrom(0, "default", library),
                  MpiRuleFrom(kBoundary, for_mpich ? known.mpich : known.open_mpi, library)}));
  }
  return tuning;
}

std::string Write(const ScratchFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.Path(name)) << text;
  return folder.Path(name);
}

std::string ProbeWords(int ranks, const std::string& file) {
  return MpirunWords(ranks) +
         "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename " + file +
         " " HOCKNEY_MPI_PROBE;
}

// Below the boundary and at it, for each collective.
std::string BothSizes() {
  std::string words;
  for (const Known& known : kKnown) {
    words += " " + std::string(known.name) + ":" + std::to_string(kBoundary - known.step);
    words += " " + std::string(known.name) + ":" + std::to_string(kBoundary);
  }
  return words;
}

bool HasMpirunOrSkips() { return RequireOrSkip("mpi", testing::HasMpirun(), "no mpirun here"); }

TEST(OpenMpiConsumerTest, AnAlgorithmNumberThatIsNoneFailsFromTheBoundaryOn) {
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  const Exported exported = ExportOmpi(TuneAll(false));
  ASSERT_EQ(exported.files.size(), 1U);
  OmpiRules rules = ReadOmpiRules("x", exported.files[0].text);
  for (OmpiCollectiveRules& collective : rules) {
    for (OmpiRankRules& ranks : collective.ranks) {
      for (OmpiMessageRule& rule : ranks.rules) {
        if (rule.algorithm != 0) rule.algorithm = 99;
      }
    }
  }
  const std::string file = Write(folder, "99.conf", FormatOmpiRules(rules));
  const Outcome outcome = RunShell(ProbeWords(kRanks, file) + BothSizes());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::string expected;
  for (const Known& known : kKnown) {
    const std::string name = known.name;
    expected += name + ":" + std::to_string(kBoundary - known.step) + " ok\n";
    expected += name + ":" + std::to_string(kBoundary) + " MPI_ERR_ARG\n";
  }
  EXPECT_EQ(outcome.out, expected);
}

TEST(OpenMpiConsumerTest, GuardsProtectCommunicatorsOfOtherSizes) {
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  OmpiRules rules = ReadOmpiRules("x", ExportOmpi(TuneAll(false)).files[0].text);
  for (OmpiCollectiveRules& collective : rules) {
    for (OmpiMessageRule& rule : collective.ranks.at(1).rules) rule.algorithm = 99;
  }
  const std::string file = Write(folder, "guard.conf", FormatOmpiRules(rules));
  for (const int ranks : {2, kRanks - 1, kRanks + 1}) {
    const Outcome outcome = RunShell(ProbeWords(ranks, file) + " allreduce:4096 bcast:65536");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "allreduce:4096 ok\nbcast:65536 ok\n") << ranks;
  }
  // Without the guards the rules count for them, too: the trap they are for.
  for (OmpiCollectiveRules& collective : rules) {
    collective.ranks = {collective.ranks.at(1)};
  }
  const std::string bare = Write(folder, "bare.conf", FormatOmpiRules(rules));
  const Outcome outcome = RunShell(ProbeWords(2, bare) + " allreduce:4096");
  EXPECT_EQ(outcome.out, "allreduce:4096 MPI_ERR_ARG\n");
}

TEST(OpenMpiConsumerTest, TheFileItselfRuns) {
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  Tuning tuning = TuneAll(false);
  tuning.tables.push_back(MpiTable(Collective::kBarrier, kRanks, {MpiRuleFrom(0, "tree")}));
  tuning.tables.push_back(MpiTable(Collective::kAllToAllV, kRanks, {MpiRuleFrom(0, "pairwise")}));
  const std::string file = Write(folder, "rules.conf", ExportOmpi(tuning).files[0].text);
  const Outcome outcome =
      RunShell(ProbeWords(kRanks, file) + BothSizes() + " barrier:0 alltoallv:4096");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(testing::CountLines(outcome.out), std::size(kKnown) * 2 + 2);
  EXPECT_EQ(outcome.out.find("rror"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("ERR"), std::string::npos) << outcome.out;
}

// --- MPICH -----------------------------------------------------------------------------------

bool HasMpichOrSkips() {
  const bool has =
      std::string(HOCKNEY_MPICH_PROBE) != "" && RunShell("command -v mpiexec.mpich").exit_code == 0;
  return RequireOrSkip("mpich", has, "no MPICH here (scripts/setup --peers)");
}

// Writes both files; `wrong`: the rule of that collective names an algorithm of another one, with
// which MPICH ends as soon as it uses it.
std::string MpichWords(const ScratchFolder& folder, const Exported& exported,
                       const Known* wrong = nullptr) {
  std::string general = exported.files.at(0).text;
  if (wrong != nullptr) {
    auto json = nlohmann::ordered_json::parse(general);
    auto& sizes = json["collective=" + std::string(wrong->name)]["comm_type=intra"]
                      ["comm_size<=" + std::to_string(kRanks)];
    auto& leaf = (--sizes.end()).value();
    leaf = {{"algorithm=MPIR_Exscan_intra_recursive_doubling", nlohmann::ordered_json::object()}};
    general = json.dump();
  }
  return "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=" + Write(folder, "coll.json", general) +
         " MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE=" +
         Write(folder, "ch4.json", exported.files.at(1).text) + " timeout 60 mpiexec.mpich -n " +
         std::to_string(kRanks) + " " HOCKNEY_MPICH_PROBE;
}

Exported ExportForMpich() {
  Tuning tuning = TuneAll(true);
  tuning.tables.push_back(MpiTable(Collective::kBarrier, kRanks,
                                   {MpiRuleFrom(0, "dissemination", "library=MPICH 4.0.2")}));
  return ExportMpich(tuning);
}

TEST(MpichConsumerTest, TheFilesAreAcceptedAndEveryCollectiveRuns) {
  if (!HasMpichOrSkips()) return;
  const ScratchFolder folder;
  const Exported exported = ExportForMpich();
  ASSERT_EQ(exported.files.size(), 2U) << ::testing::PrintToString(exported.notes);
  const Outcome outcome =
      RunShell(MpichWords(folder, exported) + BothSizes() + " barrier:0 alltoallv:4096");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(testing::CountLines(outcome.out), std::size(kKnown) * 2 + 2) << outcome.out;
  EXPECT_EQ(outcome.out.find("rror"), std::string::npos) << outcome.out;
}

TEST(MpichConsumerTest, AnUnknownAlgorithmEndsIt) {
  if (!HasMpichOrSkips()) return;
  const ScratchFolder folder;
  Exported exported = ExportForMpich();
  ASSERT_EQ(exported.files.size(), 2U);
  std::string& text = exported.files[0].text;
  const std::string known = "MPIR_Allreduce_intra_recursive_doubling";
  ASSERT_NE(text.find(known), std::string::npos);
  text.replace(text.find(known), known.size(), "MPIR_Allreduce_intra_nothing");
  const Outcome outcome = RunShell(MpichWords(folder, exported) + " allreduce:8");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("MPIR_Allreduce_intra_nothing"));
}

TEST(MpichConsumerTest, RulesCountFromTheirFirstByteOn) {
  if (!HasMpichOrSkips()) return;
  const Exported exported = ExportForMpich();
  ASSERT_EQ(exported.files.size(), 2U);
  for (const Known& known : kKnown) {
    const ScratchFolder folder;
    const std::string words = MpichWords(folder, exported, &known) + " " + known.name + ":";
    const Outcome below = RunShell(words + std::to_string(kBoundary - known.step));
    EXPECT_EQ(below.exit_code, 0) << known.name << ": " << below.err;
    EXPECT_THAT(below.out, HasSubstr(" ok"));
    const Outcome at = RunShell(words + std::to_string(kBoundary));
    EXPECT_NE(at.exit_code, 0) << known.name << " took its usual algorithm: " << at.out;
  }
}

}  // namespace
}  // namespace hockney
