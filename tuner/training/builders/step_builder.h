#pragma once

#include <string>
#include <vector>

#include "tuner/training/builders/local_model.h"
#include "tuner/training/step_graph.h"
#include "tuner/training/step_plan.h"

namespace hockney {

// What a collective does, besides when.
struct StepCall {
  std::string name;
  StepStream stream = StepStream::kLayer;
  int group = -1;
  Counts counts = {};
  DataType type = DataType::kFloat32;
};

// Collects the nodes of one rank. Computing nodes follow each other; a collective waits for the
// computing node before it unless told otherwise.
class StepBuilder {
 public:
  StepBuilder(const StepPlan& plan, std::int64_t rank);

  const StepPlan& plan() const { return plan_; }
  const LayoutPlace& place() const { return place_; }
  StepGraph& graph() { return graph_; }

  // The group's number, or -1 where it would be this rank alone and everybody else alone, too.
  int Group(ParallelDimension dimension) const { return groups_[static_cast<int>(dimension)]; }
  // The groups of two neighbouring stages: the one with the stage `from` as sender, whose receiver
  // is the next.
  int PipelineGroup(std::int64_t from) const;
  int shard_group() const { return shard_group_; }
  int replica_group() const { return replica_group_; }
  int SizeOf(int group) const { return static_cast<int>(graph_.groups[group].members.size()); }

  // Nodes from now on lie between these times; collectives are sorted by them where ranks differ.
  void Between(double begin, double end);
  // For the next node alone.
  void At(double time) { at_ = time; }

  int Compute(StepNode node);
  int Call(StepCall call);                          // after the last computing node
  int Call(StepCall call, std::vector<int> after);  // after these alone; -1s are left out
  // The next computing node waits for it.
  void Need(int node);
  int last_compute() const { return last_compute_; }

  // Sorts collectives of different ranks into one order and returns the graph.
  StepGraph Finish();

 private:
  void AddFamily(ParallelDimension dimension, const char* name);
  void AddPipelineFamilies();
  void AddShardFamilies();
  int Add(StepNode node);

  const StepPlan& plan_;
  std::int64_t rank_;
  LayoutPlace place_;
  StepGraph graph_;
  std::vector<int> groups_;  // by dimension
  std::vector<int> pipeline_groups_;
  int shard_group_ = -1;
  int replica_group_ = -1;
  std::vector<double> times_;  // of nodes
  double begin_ = 0;
  double end_ = 1;
  std::vector<int> in_slot_;  // nodes since Between
  double at_ = -1;
  int last_compute_ = -1;
  std::vector<int> needed_;
};

}  // namespace hockney
