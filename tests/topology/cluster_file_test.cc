#include "topology/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/scratch_folder.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using ::testing::StartsWith;

std::string Failure(const std::string& text) {
  try {
    ParseClusterFile(text, "c.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ClusterFileTest, RacksAndPodsAreRead) {
  const SwitchTree tree = ParseClusterFile(
      R"({"racks": [{"name": "rack0", "hosts": ["r0h0", "r0h1"]},
                    {"name": "rack1", "hosts": ["r1h[0-1]"]},
                    {"name": "rack2", "hosts": ["x"]}],
          "pods": [{"name": "p0", "racks": ["rack1", "rack0"]}]})",
      "c.json");
  ASSERT_EQ(tree.racks.size(), 3U);
  EXPECT_THAT(tree.racks[0].hosts, ElementsAre("r0h0", "r0h1"));
  EXPECT_THAT(tree.racks[1].hosts, ElementsAre("r1h0", "r1h1"));
  EXPECT_EQ(tree.racks[0].pod, "p0");
  EXPECT_EQ(tree.racks[1].pod, "p0");
  EXPECT_EQ(tree.racks[2].pod, "");
  EXPECT_EQ(tree.source, "cluster file c.json");
}

TEST(ClusterFileTest, PodsMayBeLeftOut) {
  const SwitchTree tree = ParseClusterFile(R"({"racks":[{"name":"a","hosts":["x"]}]})", "c.json");
  EXPECT_EQ(tree.racks.at(0).pod, "");
}

TEST(ClusterFileTest, WhatIsNoJsonIsNamedByLineAndColumn) {
  EXPECT_EQ(Failure("{\n  \"racks\": [,]\n}"), "c.json:2:13: \",\": expected JSON");
  EXPECT_EQ(Failure(""), "c.json:1:1: the end of the text: expected JSON");
  EXPECT_EQ(Failure("{\"racks\": ["), "c.json:1:12: the end of the text: expected JSON");
  EXPECT_THAT(Failure("\xff\xfe"), AllOf(StartsWith("c.json:1:1: "), EndsWith("expected JSON")));
}

TEST(ClusterFileTest, WhatIsNoClusterIsNamedByItsPath) {
  EXPECT_EQ(Failure("[]"), "c.json: the whole: []: expected an object with \"racks\" and \"pods\"");
  EXPECT_EQ(Failure("{}"), "c.json: the whole: {}: expected a member \"racks\"");
  EXPECT_EQ(Failure(R"({"racks":[]})"), "c.json: racks: []: expected at least one rack");
  EXPECT_EQ(Failure(R"({"racks":7})"), "c.json: racks: 7: expected an array");
  EXPECT_EQ(Failure(R"({"rack":[]})"),
            "c.json: rack: []: expected no member \"rack\", only \"racks\" and \"pods\"");
  EXPECT_EQ(Failure(R"({"racks":[{"name":"a","hosts":["x"],"u":1}]})"),
            "c.json: racks[0].u: 1: expected no member \"u\", only \"name\" and \"hosts\"");
  EXPECT_EQ(Failure(R"({"racks":[{"name":"a","hosts":["x",3]}]})"),
            "c.json: racks[0].hosts[1]: 3: expected a name in quotes");
  EXPECT_EQ(Failure(R"({"racks":[{"name":"","hosts":["x"]}]})"),
            "c.json: racks[0].name: \"\": expected a name in quotes");
  EXPECT_EQ(Failure(R"({"racks":[{"name":"a","hosts":[]}]})"),
            "c.json: racks[0].hosts: []: expected at least one host");
  EXPECT_THAT(Failure(R"({"racks":[{"name":"a","hosts":["x[1-"]}]})"),
              StartsWith("c.json: racks[0].hosts[0]: \"x[1-\": expected a number"));
}

TEST(ClusterFileTest, NothingIsInTwoPlaces) {
  EXPECT_EQ(
      Failure(R"({"racks":[{"name":"a","hosts":["x"]},{"name":"b","hosts":["y","x"]}]})"),
      "c.json: racks[1].hosts[1]: \"x\": expected a host once only, but x is in \"a\" already");
  EXPECT_EQ(Failure(R"({"racks":[{"name":"a","hosts":["x"]},{"name":"a","hosts":["y"]}]})"),
            "c.json: racks[1].name: \"a\": expected a rack's name once only");
  const std::string racks = R"({"racks":[{"name":"a","hosts":["x"]}],"pods":[)";
  EXPECT_EQ(Failure(racks + R"({"name":"p","racks":["b"]}]})"),
            "c.json: pods[0].racks[0]: \"b\": expected the name of one of \"racks\"");
  EXPECT_EQ(Failure(racks + R"({"name":"p","racks":["a"]},{"name":"q","racks":["a"]}]})"),
            "c.json: pods[1].racks[0]: \"a\": expected a rack in one pod only, but it is in \"p\" "
            "already");
  EXPECT_EQ(Failure(racks + R"({"name":"p","racks":["a"]},{"name":"p","racks":[]}]})"),
            "c.json: pods[1].name: \"p\": expected a pod's name once only");
}

TEST(ClusterFileTest, AFileThatCannotBeReadIsNamed) {
  const ScratchFolder folder;
  for (const std::string& path : {folder.Path("missing.json"), folder.Path("")}) {
    try {
      ReadClusterFile(path);
      ADD_FAILURE() << path;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(StartsWith(path + ": cannot be read: "),
                                      ::testing::Not(HasSubstr("unknown cause"))));
    }
  }
}

TEST(ClusterFileTest, WhatIsWrittenReadsBack) {
  SwitchTree tree;
  tree.racks = {{.name = "r0", .hosts = {"a", "b"}, .pod = "p"}, {.name = "r1", .hosts = {"c"}}};
  const SwitchTree read = ParseClusterFile(FormatClusterFile(tree), "c.json");
  ASSERT_EQ(read.racks.size(), 2U);
  EXPECT_THAT(read.racks[0].hosts, ElementsAre("a", "b"));
  EXPECT_EQ(read.racks[0].pod, "p");
  EXPECT_EQ(read.racks[1].name, "r1");
  EXPECT_EQ(read.racks[1].pod, "");
}

}  // namespace
}  // namespace hockney
