#include "tuner/select/choose_table.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>

#include "tuner/select/compare.h"
#include "tuner/select/shape_times.h"

namespace hockney {
namespace {

using Times = std::map<Choice, double>;

const Choice& Fastest(const Times& times) {
  return std::min_element(times.begin(), times.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Walks over the sizes from small to large and keeps what it has while it can.
class Walk {
 public:
  Walk(std::span<const DecisionPoint> points, double margin) : points_(points), margin_(margin) {}

  std::vector<TuningRule> Rules() const;

 private:
  bool IsSlower(const DecisionPoint& point, const Choice& choice) const;
  bool IsEqual(const DecisionPoint& point, const Choice& choice) const;
  bool CanStay(std::size_t i, const Choice& choice) const;
  std::size_t Stay(std::size_t i, const Choice& choice) const;
  Choice ChooseAnew(std::size_t i) const;
  TuningRule MakeRule(std::size_t first, std::size_t last, const Choice& choice) const;

  std::span<const DecisionPoint> points_;
  double margin_;
};

// Whether the fastest choice of the point beats this one by the margin and beyond noise.
bool Walk::IsSlower(const DecisionPoint& point, const Choice& choice) const {
  const Choice& best = Fastest(point.times_us);
  if (point.times_us.at(choice) <= (1 + margin_) * point.times_us.at(best)) return false;
  return point.cell == nullptr || Compare(*point.cell, choice, best).beyond_noise;
}

// Whether nothing tells this one from the fastest of the point.
bool Walk::IsEqual(const DecisionPoint& point, const Choice& choice) const {
  const Choice& best = Fastest(point.times_us);
  if (choice == best) return true;
  if (point.times_us.at(choice) > (1 + margin_) * point.times_us.at(best)) return false;
  return point.cell == nullptr || !Compare(*point.cell, choice, best).beyond_noise;
}

bool Walk::CanStay(std::size_t i, const Choice& choice) const {
  return points_[i].times_us.contains(choice) && !IsSlower(points_[i], choice);
}

std::size_t Walk::Stay(std::size_t i, const Choice& choice) const {
  std::size_t end = i + 1;
  while (end < points_.size() && CanStay(end, choice)) ++end;
  return end - i;
}

Choice Walk::ChooseAnew(std::size_t i) const {
  const DecisionPoint& point = points_[i];
  std::optional<Choice> chosen;
  std::size_t longest = 0;
  for (const auto& [choice, us] : point.times_us) {
    if (!IsEqual(point, choice)) continue;
    const std::size_t stay = Stay(i, choice);
    const bool is_better =
        !chosen || stay > longest || (stay == longest && IsSimpler(choice, *chosen));
    if (!is_better) continue;
    chosen = choice;
    longest = stay;
  }
  return *chosen;
}

TuningRule Walk::MakeRule(std::size_t first, std::size_t last, const Choice& choice) const {
  TuningRule rule{.min_bytes = first == 0 ? 0 : points_[first - 1].bytes + 1,
                  .max_bytes = points_[last].bytes};
  if (last + 1 == points_.size()) rule.max_bytes = TuningRule{}.max_bytes;
  SetChoice(rule, choice);
  std::size_t known = last;
  while (known > first && points_[known].cell == nullptr) --known;
  if (points_[known].cell == nullptr) known = last;
  const DecisionPoint& point = points_[known];
  rule.measured = point.cell != nullptr;
  rule.time_us = point.times_us.at(choice);
  std::optional<double> second;
  for (const auto& [other, us] : point.times_us) {
    if (other == choice) continue;
    second = std::min(us, second.value_or(us));
    if (point.cell == nullptr || rule.tie) continue;
    rule.tie =
        us <= (1 + margin_) * *rule.time_us || !Compare(*point.cell, other, choice).beyond_noise;
  }
  if (second) rule.gain = *second / *rule.time_us;
  return rule;
}

std::vector<TuningRule> Walk::Rules() const {
  std::vector<TuningRule> rules;
  std::size_t first = 0;
  std::optional<Choice> kept;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (kept && CanStay(i, *kept)) continue;
    const Choice next = ChooseAnew(i);
    if (kept) rules.push_back(MakeRule(first, i - 1, *kept));
    if (kept) first = i;
    kept = next;
  }
  if (kept) rules.push_back(MakeRule(first, points_.size() - 1, *kept));
  return rules;
}

}  // namespace

std::vector<TuningRule> ChooseRanges(std::span<const DecisionPoint> points, double margin) {
  std::vector<DecisionPoint> known;
  known.reserve(points.size());
  std::copy_if(points.begin(), points.end(), std::back_inserter(known),
               [](const DecisionPoint& point) { return !point.times_us.empty(); });
  return Walk(known, margin).Rules();
}

std::vector<std::uint64_t> WithPowersBetween(std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t size : sizes) {
    if (!all.empty()) {
      for (std::uint64_t next = std::bit_floor(all.back()) * 2; next != 0 && next < size;
           next *= 2) {
        all.push_back(next);
      }
    }
    all.push_back(size);
  }
  return all;
}

TuningTable ChooseTable(const MeasuredTable& table, const RuleOptions& options) {
  const ShapeTimes times(table);
  std::vector<DecisionPoint> points;
  for (const std::uint64_t bytes :
       options.decides_between ? WithPowersBetween(times.sizes()) : times.sizes()) {
    DecisionPoint& point =
        points.emplace_back(DecisionPoint{.bytes = bytes, .times_us = times.At(bytes)});
    if (times.is_measured(bytes)) point.cell = &table.cells.at(bytes);
  }
  TuningTable chosen = table.key;
  chosen.rules = ChooseRanges(points, options.margin);
  // Rows of this shape lie at both sides of a range that holds none.
  for (TuningRule& rule : chosen.rules) rule.measured = true;
  return chosen;
}

}  // namespace hockney
