#include "tuner/simulate/flow_network.h"

#include <algorithm>
#include <cmath>

namespace hockney {
namespace {

// Of a bucket: fewer bytes count as none, so that rounding makes no events.
constexpr double kLeastTokens = 1;
constexpr double kNoWeight = 1e-6;
constexpr double kSameShare = 1e-12;
// Where more flows than this are under way, a change is shared out among some next to it, and those
// farther away keep their rates: in networks that are full everywhere all flows are one component.
constexpr std::size_t kFlowsForAll = 256;
constexpr std::size_t kFlowsNearby = 32;
constexpr std::size_t kManyChanges = 64;  // at once: everything is shared out anew

}  // namespace

std::vector<double> RefilledBuckets(std::span<const Resource> resources, double seconds,
                                    std::span<const double> before) {
  std::vector<double> buckets;
  for (const Resource& each : resources) {
    if (each.burst_bytes == 0) continue;
    const double held = before.empty() ? 0 : before[buckets.size()];
    buckets.push_back(std::min(each.burst_bytes, held + seconds * each.bytes_per_second));
  }
  return buckets;
}

FlowNetwork::FlowNetwork(std::span<const Resource> resources, std::span<const double> buckets) {
  std::size_t next = 0;
  resources_.resize(resources.size());
  for (std::size_t i = 0; i < resources.size(); ++i) {
    resources_[i].limits = resources[i];
    if (resources[i].burst_bytes > 0) resources_[i].tokens = buckets[next++];
  }
}

double FlowNetwork::Capacity(const Used& resource) const {
  return resource.tokens > kLeastTokens ? resource.limits.peak_bytes_per_second
                                        : resource.limits.bytes_per_second;
}

double FlowNetwork::Tokens(std::int32_t resource, double now) const {
  Used copy;
  const Used& used = resources_[resource];
  copy.limits = used.limits;
  copy.tokens = used.tokens;
  copy.used = used.used;
  copy.updated = used.updated;
  Refill(copy, now);
  return copy.tokens;
}

void FlowNetwork::Refill(Used& resource, double now) const {
  if (resource.limits.burst_bytes > 0) {
    const double gained =
        (resource.limits.bytes_per_second - resource.used) * (now - resource.updated);
    resource.tokens = std::clamp(resource.tokens + gained, 0.0, resource.limits.burst_bytes);
  }
  resource.updated = now;
}

void FlowNetwork::MarkDirty(std::uint32_t resource) {
  Used& used = resources_[resource];
  if (used.dirty) return;
  used.dirty = true;
  dirty_.push_back(resource);
}

std::uint32_t FlowNetwork::Start(double now, double bytes, double cap, const FlowPath& path,
                                 std::vector<Due>* due) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[number];
  flow.remaining = flow.bytes = bytes;
  flow.rate = 0;
  flow.updated = now;
  flow.cap = cap;
  flow.end = flow.due = kUnlimited;
  flow.path = path;
  bool alone = true;
  double rate = cap;
  for (int i = 0; i < path.size; ++i) {
    const PathPart part = path.parts[i];
    Used& used = resources_[part.resource];
    alone = alone && used.flows.empty() && used.limits.burst_bytes == 0;
    rate = std::min(rate, used.limits.bytes_per_second / part.weight);
    flow.place[i] = static_cast<std::uint32_t>(used.flows.size());
    used.flows.push_back({number, static_cast<std::uint32_t>(i)});
  }
  if (alone) {  // nothing to share: what Settle would find
    flow.rate = rate;
    flow.end = flow.due = now + bytes / rate;
    due->push_back({flow.end, number, flow.version, false});
    return number;
  }
  for (int i = 0; i < path.size; ++i) MarkDirty(path.parts[i].resource);
  return number;
}

bool FlowNetwork::End(double now, std::uint32_t number, std::uint32_t version,
                      std::vector<Due>* due) {
  Flow& flow = flows_[number];
  if (flow.version != version || now < flow.due) return false;
  if (flow.end > now) {  // it has slowed down since
    flow.due = flow.end;
    due->push_back({flow.end, number, flow.version, false});
    return false;
  }
  for (int i = 0; i < flow.path.size; ++i) {
    const PathPart part = flow.path.parts[i];
    Used& used = resources_[part.resource];
    used.passed += flow.bytes * part.weight;
    const std::uint32_t place = flow.place[i];
    const Member last = used.flows.back();
    used.flows[place] = last;
    flows_[last.flow].place[last.part] = place;
    used.flows.pop_back();
    if (used.limits.burst_bytes > 0 || !used.flows.empty()) {
      MarkDirty(part.resource);
    } else {
      used.used = 0;
    }
  }
  flow.updated = now;
  ++flow.version;
  free_.push_back(number);
  return true;
}

void FlowNetwork::Drain(double now, std::uint32_t number, std::uint32_t version) {
  Used& used = resources_[number];
  if (used.version != version) return;
  Refill(used, now);
  used.tokens = 0;
  MarkDirty(number);
}

// Gathers what is within reach of the resources that changed, from touched_resources_[next] on: all
// their flows, and flows beyond up to the limit.
void FlowNetwork::Collect(std::size_t next, std::size_t most_flows) {
  const std::size_t changed = touched_resources_.size();
  for (; next < touched_resources_.size(); ++next) {
    if (next >= changed && touched_flows_.size() >= most_flows) return;
    for (const Member member : resources_[touched_resources_[next]].flows) {
      Flow& flow = flows_[member.flow];
      if (flow.mark == mark_) continue;
      flow.mark = mark_;
      touched_flows_.push_back(member.flow);
      for (int i = 0; i < flow.path.size; ++i) {
        const auto other = static_cast<std::uint32_t>(flow.path.parts[i].resource);
        if (resources_[other].mark == mark_) continue;
        resources_[other].mark = mark_;
        touched_resources_.push_back(other);
      }
    }
  }
}

void FlowNetwork::Fix(Flow& flow, double rate) {
  flow.rate = rate;
  flow.mark = 0;  // done
  for (int i = 0; i < flow.path.size; ++i) {
    const PathPart part = flow.path.parts[i];
    Used& used = resources_[part.resource];
    used.left = std::max(0.0, used.left - rate * part.weight);
    used.open_weight -= part.weight;
    used.used += rate * part.weight;
  }
}

// Progressive filling: all open flows get the same share until a resource is full or a flow has its
// cap; those are fixed, and the rest go on.
void FlowNetwork::Fill() {
  std::size_t open = touched_flows_.size();
  const auto open_flow = [&](std::uint32_t flow) { return flows_[flow].mark == mark_; };
  while (open > 0) {
    double share = kUnlimited;
    for (const std::uint32_t number : touched_resources_) {
      const Used& used = resources_[number];
      if (used.open_weight < kNoWeight) continue;
      share = std::min(share, used.left / used.open_weight);
    }
    double least_cap = kUnlimited;
    for (const std::uint32_t number : touched_flows_) {
      if (open_flow(number)) least_cap = std::min(least_cap, flows_[number].cap);
    }
    if (least_cap <= share) {
      for (const std::uint32_t number : touched_flows_) {
        if (!open_flow(number) || flows_[number].cap > least_cap) continue;
        Fix(flows_[number], least_cap);
        --open;
      }
      continue;
    }
    // All that are full together: where many do the same at once, that is most of them.
    const double least = share * (1 + kSameShare);
    for (const std::uint32_t number : touched_resources_) {
      const Used& used = resources_[number];
      if (used.open_weight < kNoWeight || used.left > least * used.open_weight) continue;
      for (const Member member : used.flows) {
        if (!open_flow(member.flow)) continue;
        Fix(flows_[member.flow], share);
        --open;
      }
    }
  }
}

void FlowNetwork::Report(double now, std::vector<Due>* due) {
  for (std::size_t i = 0; i < touched_flows_.size(); ++i) {
    Flow& flow = flows_[touched_flows_[i]];
    if (std::abs(flow.rate - old_rates_[i]) <= kSameShare * flow.rate) continue;  // known already
    flow.end = now + flow.remaining / flow.rate;
    if (flow.end >= flow.due) continue;  // End will see
    flow.due = flow.end;
    due->push_back({flow.end, touched_flows_[i], flow.version, false});
  }
  for (const std::uint32_t number : touched_resources_) {
    Used& used = resources_[number];
    if (used.limits.burst_bytes == 0) continue;
    ++used.version;
    const double loss = used.used - used.limits.bytes_per_second;
    if (used.tokens > kLeastTokens && loss > 0) {
      due->push_back({now + used.tokens / loss, number, used.version, true});
    }
  }
}

// Shares out the component that was gathered.
void FlowNetwork::Solve(double now, std::vector<Due>* due) {
  ++solves_;
  for (const std::uint32_t number : touched_resources_) {
    Used& used = resources_[number];
    Refill(used, now);
    used.used = 0;
    used.left = Capacity(used);
    used.open_weight = 0;
    for (const Member member : used.flows) {
      const Flow& flow = flows_[member.flow];
      const double weight = flow.path.parts[member.part].weight;
      if (flow.mark == mark_) {
        used.open_weight += weight;
      } else {  // too far away to change
        used.used += flow.rate * weight;
      }
    }
    used.left = std::max(0.0, used.left - used.used);
  }
  old_rates_.clear();
  for (const std::uint32_t number : touched_flows_) {
    Flow& flow = flows_[number];
    flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.updated));
    flow.updated = now;
    old_rates_.push_back(flow.rate);
  }
  Fill();
  Report(now, due);
}

void FlowNetwork::Settle(double now, std::vector<Due>* due) {
  if (dirty_.empty()) return;
  ++mark_;
  touched_resources_.clear();
  touched_flows_.clear();
  const std::size_t active = flows_.size() - free_.size();
  const bool many = dirty_.size() > std::max(kManyChanges, active / 4);
  for (const std::uint32_t number : dirty_) {
    Used& changed = resources_[number];
    changed.dirty = false;
    if (changed.mark == mark_) continue;
    changed.mark = mark_;
    touched_resources_.push_back(number);
    if (!many) continue;
    Collect(0, flows_.size());
    Solve(now, due);
    touched_resources_.clear();
    touched_flows_.clear();
  }
  if (!many) {
    Collect(0, active <= kFlowsForAll ? active : kFlowsNearby);
    Solve(now, due);
  }
  dirty_.clear();
}

}  // namespace hockney
