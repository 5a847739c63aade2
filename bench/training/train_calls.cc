#include "bench/training/train_calls.h"

#include <utility>

namespace hockney {
namespace {

int AddGroup(StepGraph& graph, const char* family, const StridedGroup& group) {
  graph.groups.push_back({family, Members(group)});
  return static_cast<int>(graph.groups.size()) - 1;
}

std::size_t Add(StepGraph& graph, const char* name, int group, Collective collective,
                std::int64_t elements) {
  const auto ranks = static_cast<int>(graph.groups[group].members.size());
  StepNode node;
  node.name = name;
  node.kind = StepKind::kCollective;
  node.stream = StepStream::kLayer;
  node.group = group;
  node.counts = EvenCounts({collective, ranks, 0}, static_cast<std::uint64_t>(elements));
  graph.nodes.push_back(std::move(node));
  return graph.nodes.size() - 1;
}

std::span<float> FloatsOf(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

TrainGraph MakeTrainGraph(const TrainPlan& plan, std::int64_t rank) {
  TrainGraph made;
  StepGraph& graph = made.graph;
  graph.rank = rank;
  if (plan.degrees.tp > 1) {
    const int tensor =
        AddGroup(graph, "tensor", GroupOf(plan.degrees, ParallelDimension::kTensor, rank));
    const std::int64_t values = std::int64_t{RowsOf(plan)} * plan.shape.features;
    made.outputs = Add(graph, "outputs", tensor, Collective::kAllReduce, values);
    made.input_gradients = Add(graph, "input gradients", tensor, Collective::kAllReduce, values);
  }
  if (plan.degrees.dp > 1) {
    const int data = AddGroup(graph, "data", GroupOf(plan.degrees, ParallelDimension::kData, rank));
    const bool shards = plan.sharding != Sharding::kDdp;
    made.gradients =
        Add(graph, "gradients", data, shards ? Collective::kReduceScatter : Collective::kAllReduce,
            MasterElements(plan));
    if (shards) {
      made.parameters =
          Add(graph, "parameters", data, Collective::kAllGather, MasterElements(plan));
    }
    made.loss = Add(graph, "loss", data, Collective::kAllReduce, 1);
  }
  return made;
}

TrainCalls::TrainCalls(Session& world, const HostGround& world_ground,
                       const RankPlacement* placement, const TrainPlan& plan,
                       const StepCalls::Options& options)
    : graph_(MakeTrainGraph(plan, world.rank())),
      calls_(world, world_ground, placement, graph_.graph, options) {}

Exchange TrainCalls::ExchangeOf(std::optional<std::size_t> node, Watchdog* watchdog) const {
  if (!node) return {};
  return {.call = calls_.At(*node),
          .input = FloatsOf(calls_.InputOf(*node)),
          .output = FloatsOf(calls_.OutputOf(*node)),
          .watchdog = watchdog};
}

TrainExchanges TrainCalls::Exchanges(Watchdog* watchdog) const {
  return {.outputs = ExchangeOf(graph_.outputs, watchdog),
          .input_gradients = ExchangeOf(graph_.input_gradients, watchdog),
          .gradients = ExchangeOf(graph_.gradients, watchdog),
          .parameters = ExchangeOf(graph_.parameters, watchdog),
          .loss = ExchangeOf(graph_.loss, watchdog)};
}

}  // namespace hockney
