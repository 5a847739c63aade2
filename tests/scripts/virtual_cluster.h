#pragma once

#include <string>

#include "tests/bench/run_program.h"

namespace hockney::testing {

// Runs scripts/virtual_cluster or the agent beside it, whose words begin with the command.
Outcome RunClusterScript(const std::string& words);
Outcome RunClusterAgent(const std::string& words);

// The hosts of scripts/virtual_cluster, of this test alone and gone in the end. Also removes those
// that tests which were killed have left.
class VirtualCluster {
 public:
  // Without a cluster until Up has ended well.
  VirtualCluster();
  VirtualCluster(const VirtualCluster&) = delete;
  VirtualCluster& operator=(const VirtualCluster&) = delete;
  ~VirtualCluster();

  // scripts/virtual_cluster with the command up, run, status or down, for this cluster.
  Outcome Up(const std::string& options) const;
  Outcome Run(const std::string& options, const std::string& command) const;
  Outcome Status() const;
  Outcome Down() const;

  // Makes the cluster if the machine and the rights allow it. Otherwise marks the test as skipped
  // with the reason, or as failed (see RequireOrSkip), and returns false.
  bool UpOrSkip(const std::string& options) const;

  // Runs words of the shell in `host`.
  Outcome In(const std::string& host, const std::string& words) const;

  const std::string& name() const { return name_; }
  std::string folder() const { return "/run/" + name_ + "-cluster"; }

 private:
  std::string name_;
};

// `text` as one word of the shell.
std::string Quoted(const std::string& text);

}  // namespace hockney::testing
