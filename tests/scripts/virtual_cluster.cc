#include "tests/scripts/virtual_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <system_error>

#include "tests/requirements.h"

namespace hockney::testing {
namespace {

constexpr char kNamePrefix[] = "hockneytest";

Outcome RunScript(const std::string& script, const std::string& words) {
  return RunShell(Quoted(HOCKNEY_SOURCE "/scripts/" + script) + " " + words);
}

// Removes the clusters of tests that were killed, whose ranks would keep the cores busy.
void RemoveAbandoned() {
  const std::regex pattern(std::string(kNamePrefix) + "([0-9]+)-cluster");
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/run", ignored)) {
    std::smatch match;
    const std::string file = entry.path().filename();
    if (!std::regex_match(file, match, pattern)) continue;
    if (kill(std::stoi(match[1]), 0) == 0) continue;  // its test is running
    RunClusterScript("down --name " + (kNamePrefix + match[1].str()));
  }
}

}  // namespace

std::string Quoted(const std::string& text) {
  return "'" + std::regex_replace(text, std::regex("'"), "'\\''") + "'";
}

Outcome RunClusterScript(const std::string& words) { return RunScript("virtual_cluster", words); }

Outcome RunClusterAgent(const std::string& words) {
  return RunScript("virtual_cluster_agent", words);
}

VirtualCluster::VirtualCluster() : name_(kNamePrefix + std::to_string(getpid())) {
  RemoveAbandoned();
}

VirtualCluster::~VirtualCluster() { static_cast<void>(Down()); }

Outcome VirtualCluster::Up(const std::string& options) const {
  return RunClusterScript("up --name " + name_ + " " + options);
}

Outcome VirtualCluster::Run(const std::string& options, const std::string& command) const {
  return RunClusterScript("run --name " + name_ + " " + options + " -- " + command);
}

Outcome VirtualCluster::Status() const { return RunClusterScript("status --name " + name_); }

Outcome VirtualCluster::Down() const { return RunClusterScript("down --name " + name_); }

bool VirtualCluster::UpOrSkip(const std::string& options) const {
  const Outcome up = Up(options);
  EXPECT_TRUE(up.exit_code == 0 || up.exit_code == 3) << up.err;
  return RequireOrSkip("netns", up.exit_code == 0, up.err);
}

Outcome VirtualCluster::In(const std::string& host, const std::string& words) const {
  return RunClusterAgent("--name " + name_ + " " + host + " " + Quoted(words));
}

}  // namespace hockney::testing
