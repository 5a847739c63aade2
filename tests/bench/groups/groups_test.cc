// What groups of ranks agree on, and how their rows become one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/groups/cell_groups.h"
#include "bench/groups/competitor_json.h"
#include "bench/groups/group_report.h"
#include "bench/groups/merged_groups.h"
#include "bench/groups/rank_groups.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kSeconds = 30;

Competitor MakeCompetitor(const std::string& algorithm, bool active) {
  Competitor competitor;
  competitor.row.implementation = "hockney";
  competitor.row.algorithm = algorithm;
  competitor.row.protocol = "simple";
  competitor.row.parameters = "slices=2;store=cached";
  competitor.active = active;
  return competitor;
}

std::vector<std::string> AlgorithmsOf(const std::vector<Competitor>& competitors) {
  std::vector<std::string> names;
  names.reserve(competitors.size());
  for (const Competitor& c : competitors) names.push_back(c.row.algorithm + (c.active ? "" : "-"));
  return names;
}

TEST(RankGroupsTest, EachRankKnowsItsGroup) {
  RunThreadRanks(5, kSeconds, [](Session& world) {
    RankGroups groups(world, "MOD:2");
    EXPECT_EQ(groups.count(), 2);
    EXPECT_EQ(groups.mine(), world.rank() % 2);
    EXPECT_EQ(groups.session().rank(), world.rank() / 2);
    EXPECT_EQ(groups.session().ranks(), world.rank() % 2 == 0 ? 3 : 2);
    EXPECT_EQ(groups.largest(), 3);
    EXPECT_EQ(groups.smallest(), 2);
    EXPECT_EQ(groups.Label(1), "MOD:2/1");
    EXPECT_EQ(groups.Facts().dump(), R"({"split":"MOD:2","ranks":[[0,2,4],[1,3]]})");
  });
}

TEST(RankGroupsTest, WithoutASplitAllAreOne) {
  RunThreadRanks(2, kSeconds, [](Session& world) {
    RankGroups groups(world, "");
    EXPECT_FALSE(groups.is_split());
    EXPECT_EQ(groups.count(), 1);
    EXPECT_THAT(groups.members(), ElementsAre(0, 1));
    EXPECT_EQ(groups.Label(0), "");
    EXPECT_TRUE(groups.Facts().is_null());
  });
}

TEST(CellGroupsTest, WhatOneGroupCannotRunNobodyTimes) {
  RunThreadRanks(4, kSeconds, [](Session& world) {
    RankGroups groups(world, "DIV:2");
    std::vector<Competitor> competitors;
    competitors.push_back(MakeCompetitor("tree", world.rank() < 2));
    competitors.push_back(MakeCompetitor("ring", true));
    competitors.push_back(MakeCompetitor("direct", true));
    AgreeOnCompetitors(groups, competitors);
    EXPECT_THAT(AlgorithmsOf(competitors), ElementsAre("ring", "direct", "tree-"));
    EXPECT_EQ(competitors[2].row.reason, world.rank() < 2 ? "another group cannot run it" : "");
  });
}

TEST(CellGroupsTest, WhatOneGroupWantsIsTimedInAll) {
  RunThreadRanks(4, kSeconds, [](Session& world) {
    RankGroups groups(world, "DIV:2");
    CellSchedule::Plan mine;
    if (world.rank() == 0) mine.rounds = 3;
    if (world.rank() == 2) mine.rounds = 5;
    if (world.rank() == 1) mine.rounds = 99;  // does not speak for its group
    mine.active[world.rank() == 0 ? 0 : 1] = 1;
    mine.chosen = world.rank() == 0 ? 0 : 1;
    mine.chosen_us = world.rank() == 0 ? 7 : 9;
    CellSchedule::Plan plan = AgreeOnPlan(groups, mine);
    EXPECT_EQ(plan.rounds, 5);
    EXPECT_EQ(plan.active[0], 1);
    EXPECT_EQ(plan.active[1], 1);
    EXPECT_EQ(plan.chosen, 1);  // the slower group's
    if (world.rank() == 0) mine.chosen = -1;
    plan = AgreeOnPlan(groups, mine);
    EXPECT_EQ(plan.chosen, -1);  // until all have come so far
  });
}

TEST(CellGroupsTest, RowsOfGroupsStandSideBySide) {
  RunThreadRanks(4, kSeconds, [](Session& world) {
    RankGroups groups(world, "MOD:2");
    std::vector<Competitor> competitors;
    competitors.push_back(MakeCompetitor("ring", true));
    competitors.push_back(MakeCompetitor("direct", true));
    competitors[0].row.reason = "two\nlines";  // no CSV field, but it must arrive
    competitors[0].times_us = {1.0 + world.rank(), 2};
    competitors[0].samples.push_back({.sample = 4, .time_us = 0.1 + world.rank()});
    std::vector<std::string> seen;
    CollectCompetitors(groups, competitors, [&](const Competitor& c) {
      seen.push_back(c.row.algorithm + " " + c.row.groups);
      if (c.row.algorithm != "ring") return;
      EXPECT_EQ(c.row.reason, "two\nlines");
      EXPECT_THAT(c.times_us, ElementsAre(1.0 + GroupNumber(c.row.groups), 2));
      ASSERT_EQ(c.samples.size(), 1U);
      EXPECT_EQ(c.samples[0].time_us, 0.1 + GroupNumber(c.row.groups));
    });
    if (world.rank() == 0) {
      EXPECT_THAT(seen,
                  ElementsAre("ring MOD:2/0", "ring MOD:2/1", "direct MOD:2/0", "direct MOD:2/1"));
    } else {
      EXPECT_TRUE(seen.empty());
    }
  });
}

SweepRow MakeRow(int group, const std::string& algorithm, double time_us) {
  SweepRow row = MakeCompetitor(algorithm, true).row;
  row.groups = "DIV:2/" + std::to_string(group);
  row.ranks = 2;
  row.size_bytes = 1024;
  row.count = 256;
  row.time_us_median = time_us;
  row.time_us_mean = time_us;
  return row;
}

TEST(GroupReportTest, TheChoiceIsTheOneWhoseSlowestGroupIsFastest) {
  const GroupMembers groups = {{0, 1}, {2, 3}, {4, 5}};
  const SweepRow rows[] = {MakeRow(0, "ring", 1),   MakeRow(1, "ring", 9),
                           MakeRow(2, "ring", 2),   MakeRow(0, "direct", 5),
                           MakeRow(1, "direct", 6), MakeRow(2, "direct", 4)};
  const std::string text = FastestOfGroups(rows, groups);
  EXPECT_THAT(text, HasSubstr("direct"));
  EXPECT_THAT(text, HasSubstr("6.00"));
  EXPECT_THAT(text, HasSubstr("1 (ranks 2-3)"));
  EXPECT_THAT(text, HasSubstr("1.50x"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("ring")));
}

TEST(GroupReportTest, ARowThatOneGroupLacksIsNoChoice) {
  const GroupMembers groups = {{0, 1}, {2, 3}};
  const SweepRow rows[] = {MakeRow(0, "ring", 1), MakeRow(0, "direct", 5), MakeRow(1, "direct", 6)};
  EXPECT_THAT(FastestOfGroups(rows, groups), ::testing::Not(HasSubstr("ring")));
}

TEST(MergedGroupsTest, TheSlowestGroupsRowStandsForAll) {
  MergedGroups merged;
  Competitor first;
  first.row = MakeRow(0, "ring", 4);
  first.row.errors = 1;
  first.times_us = {4, 4};
  first.rank_us = {8, 6};  // summed over two samples
  Competitor second;
  second.row = MakeRow(1, "ring", 5);
  second.row.errors = 2;
  second.times_us = {5};
  second.rank_us = {5, 3};
  merged.Add(first);
  merged.Add(second);
  EXPECT_EQ(merged.count(), 2U);
  EXPECT_EQ(merged.all().row.groups, "DIV:2/1");
  EXPECT_EQ(merged.all().row.errors, 3U);
  EXPECT_EQ(merged.all().times_us.size(), 1U);
  EXPECT_THAT(merged.all().rank_us, ElementsAre(4, 3, 5, 3));
}

TEST(MergedGroupsTest, AFailureIsNotCoveredByTheOthers) {
  Competitor wrong;
  wrong.row = MakeRow(0, "ring", 1);
  wrong.row.status = Status::kWrongData;
  Competitor right;
  right.row = MakeRow(1, "ring", 100);
  right.times_us = {100};
  MergedGroups merged;
  merged.Add(wrong);
  merged.Add(right);
  EXPECT_EQ(merged.all().row.status, Status::kWrongData);
  EXPECT_TRUE(merged.all().times_us.empty());
}

}  // namespace
}  // namespace hockney
