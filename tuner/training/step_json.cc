#include "tuner/training/step_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

Json Metadata(const char* what, std::int64_t rank, int stream, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", stream}, {"args", {{"name", name}}}};
}

Json EventOf(const StepGraph& graph, const StepNode& node, const NodeTime& time) {
  Json arguments = Json::object();
  if (node.kind == StepKind::kCollective) {
    arguments = {{"collective", Name(node.counts.collective)},
                 {"bytes", SizeBytes(node)},
                 {"group", graph.groups[node.group].family},
                 {"ranks", node.counts.ranks}};
  }
  return {{"name", node.name},
          {"cat", Name(node.kind)},
          {"ph", "X"},
          {"pid", graph.rank},
          {"tid", static_cast<int>(node.stream)},
          {"ts", time.start * 1e6},
          {"dur", (time.end - time.start) * 1e6},
          {"args", std::move(arguments)}};
}

Json NodeJson(const StepNode& node) {
  Json json = {{"name", node.name},
               {"kind", Name(node.kind)},
               {"stream", Name(node.stream)},
               {"after", node.after}};
  if (node.kind == StepKind::kCompute) {
    json["work"] = Name(node.work);
    json["unit"] = node.unit < 0 ? Json() : Json(node.unit);
    json["flops"] = node.flops;
    json["memory_bytes"] = node.memory_bytes;
    json["seconds"] = node.seconds;
    return json;
  }
  json["collective"] = Name(node.counts.collective);
  json["group"] = node.group;
  json["root"] = node.counts.root;
  json["counts"] = node.counts.counts;
  json["dtype"] = Name(node.type);
  json["size_bytes"] = SizeBytes(node);
  json["padding_bytes"] = node.padding_bytes;
  json["bucket"] = node.bucket < 0 ? Json() : Json(node.bucket);
  return json;
}

}  // namespace

std::string StepTrace(std::span<const StepGraph> graphs,
                      std::span<const std::vector<NodeTime>> times) {
  Json events = Json::array();
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const StepGraph& graph = graphs[g];
    events.push_back(Metadata("process_name", graph.rank, 0, "rank " + std::to_string(graph.rank)));
    for (int stream = 0; stream < kStepStreams; ++stream) {
      events.push_back(Metadata("thread_name", graph.rank, stream,
                                std::string(Name(static_cast<StepStream>(stream)))));
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      events.push_back(EventOf(graph, graph.nodes[i], times[g][i]));
    }
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

nlohmann::ordered_json GraphJson(const StepGraph& graph) {
  Json json = {
      {"schema", 1}, {"rank", graph.rank}, {"groups", Json::array()}, {"nodes", Json::array()}};
  for (const StepGroup& group : graph.groups) {
    json["groups"].push_back({{"family", group.family}, {"members", group.members}});
  }
  for (const StepNode& node : graph.nodes) json["nodes"].push_back(NodeJson(node));
  return json;
}

}  // namespace hockney
