#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tuner/records.h"

namespace hockney {

// An MPI library with its settings, and hockney measured beside it in the same launches.
struct Peer {
  std::string name = {};                   // of its run folder
  std::string library = {};                // name and version
  std::string asked_for = {};              // settings of MPI in the environment
  std::string transport = {};              // what carries its messages, as far as that is known
  std::string ranks = {};                  // how many, their CPUs and who bound them
  std::string machine = {};                // and the build of hockney
  std::vector<std::string> problems = {};  // launches that failed, and why
  std::vector<SweepRow> rows = {};
};

// The comparison in Markdown.
struct PeerReport {
  std::string text = {};
  std::size_t peers_compared = 0;
};

// Compares all_reduce of float32, out of place, isolated, refreshed, with ranks that share no core:
// our best choice of each size and each of our algorithms with each peer, as ratios of medians.
// Choices are made on one half of the launches and reported on the other (choice.h), so a peer of
// one launch is not compared; whatever is not compared is there with its reason.
PeerReport ReportPeers(std::span<const Peer> peers);

}  // namespace hockney
