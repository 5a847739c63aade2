#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/sweep_options.h"
#include "collectives/baselines/nccl/nccl_baseline.h"
#include "topology/session.h"

namespace hockney {

// One NCCL of a run: a library, told how to do it or left to choose.
struct NcclRow {
  std::string library = {};  // as the user named it
  NcclChoice choice = {};
  std::string version = {};                     // empty where it could not be loaded
  std::string file = {};                        // that it came from
  std::string reason = {};                      // why it cannot be used, the same on all ranks
  std::unique_ptr<NcclBaseline> baseline = {};  // null where there is a reason

  // Whether it was told how to do it.
  bool is_told() const {
    return !choice.algorithm.empty() || !choice.protocol.empty() || choice.channels > 0;
  }
  // Makes the baseline, anew where there was one. Collective.
  void Connect(Session& session, Device& device);
};

// Loads every library that the options name, and makes a communicator for every algorithm, protocol
// and number of channels they name. What cannot be had is a row with its reason. Collective.
std::vector<NcclRow> MakeNcclRows(Session& session, Device& device, const SweepOptions& options);

// The first rank's reason that is not empty, on every rank; "" if there is none. Collective.
std::string FirstReason(Session& session, const std::string& mine);

// For run.json.
nlohmann::ordered_json NcclFacts(const std::vector<NcclRow>& rows);

}  // namespace hockney
