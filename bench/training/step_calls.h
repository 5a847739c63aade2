#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/buffers.h"
#include "bench/correctness.h"
#include "bench/training/step_ground.h"
#include "collectives/placement.h"
#include "tuner/training/step_graph.h"

namespace hockney {

// Every collective of one rank's step, ready to run, on buffers of its own where gradients are
// reduced. Sessions and grounds of its groups live here.
class StepCalls {
 public:
  using Options = StepGroundOptions;

  // `world` is the session of all ranks, `world_ground` theirs; `placement` of all ranks, null on
  // one host. All, and the graph, outlive the calls. Collective over `world`; throws on all ranks
  // alike EnvironmentError where the library that the options name cannot be had, and
  // std::invalid_argument for a collective that it cannot do.
  StepCalls(Session& world, const HostGround& world_ground, const RankPlacement* placement,
            const StepGraph& graph, const Options& options);

  // Null for nodes that compute.
  Prepared* At(std::size_t node) const {
    return nodes_[node] == nullptr ? nullptr : nodes_[node]->prepared.get();
  }
  // Between stages of a pipeline, a message of one element in place of the node's; else null.
  Prepared* SignalAt(std::size_t node) const {
    return nodes_[node] == nullptr ? nullptr : nodes_[node]->signal.get();
  }
  // What the node's buffers are.
  const Call& CallAt(std::size_t node) const { return nodes_[node]->call; }
  // What a collective reads and writes, on the host; nodes other than gradients may have the same
  // memory.
  std::span<std::byte> InputOf(std::size_t node) const { return nodes_[node]->set.input(); }
  std::span<std::byte> OutputOf(std::size_t node) const { return nodes_[node]->set.output(); }
  // The library that does them in place of our executors; "": none, or no collectives.
  std::string Library() const {
    return parties_.empty() ? "" : parties_.front()->ground->Library();
  }
  // What does it: "ring", "hierarchical(direct,ring)", "mpi", "nccl".
  const std::string& ChoiceOf(std::size_t node) const { return nodes_[node]->choice; }

  // Fills what gradients start from, so that every mean is known; and, after a step, compares.
  // Collective over `world`.
  void FillGradients(std::uint64_t seed);
  CheckResult CheckGradients(std::uint64_t seed);

 private:
  // A family of groups, of which this rank is in one.
  struct Party {
    Party(Session of_group, Session of_host)
        : session(std::move(of_group)), local(std::move(of_host)) {}
    Session session;
    Session local;  // the group's ranks on this host
    RankPlacement placement = {};
    std::unique_ptr<StepGround> ground = {};
  };
  // Calls that are alike share one: all but gradients, which have a bucket, and those of other
  // micro-batches.
  using Key =
      std::tuple<int, StepStream, int, Collective, int, std::vector<std::uint64_t>, DataType>;
  struct Shared {
    Call call = {};
    std::string choice = {};
    BufferSet set;
    std::unique_ptr<Prepared> prepared = {};
    std::unique_ptr<Prepared> signal = {};
    bool is_gradient = false;
  };

  static Key KeyOf(const StepNode& node);
  void MakeParty(const HostGround& world_ground, const RankPlacement* placement, std::size_t group);
  std::size_t PlaceBuffers(std::size_t group);
  void RequireLibrary();
  Call CallOf(const StepNode& node) const;
  std::unique_ptr<Prepared> PrepareCall(const StepNode& node, const Call& call,
                                        std::string* choice_name);
  void Prepare(const StepNode& node, std::span<std::byte> room);

  Session& world_;
  const StepGraph& graph_;
  Options options_;
  std::vector<std::unique_ptr<Party>> parties_;  // by group
  std::map<Key, std::size_t> offsets_;           // in the arena of the group
  std::map<Key, Shared> shared_;
  std::vector<const Shared*> nodes_;
};

}  // namespace hockney
