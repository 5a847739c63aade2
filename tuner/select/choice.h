#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "tuner/records.h"
#include "tuner/select/tuning.h"

namespace hockney {

// One way to do a collective, whatever the size: what a rule of a table names, and what tells rows
// of one cell apart. `parameters` holds only what does not follow from the size: library, path,
// store, a library's segments and fan, and slices where a sweep tried several.
struct Choice {
  std::string implementation = {};
  std::string algorithm = {};  // AlgorithmOf
  std::string protocol = {};
  std::optional<std::int64_t> lanes = {};
  std::string parameters = {};

  auto operator<=>(const Choice&) const = default;
};

// Without slices: how many a row had follows from its size, up to what --slices asks for.
Choice ChoiceOf(const SweepRow& row);
// The choice with so many slices.
Choice WithSlices(Choice choice, const std::string& slices);
Choice ChoiceOf(const TuningRule& rule);
// Writes the choice into the rule; its sizes and times stay.
void SetChoice(TuningRule& rule, const Choice& choice);

// "mpi", "nccl ring ll", "two_shot x8 non_temporal": for people.
std::string Describe(const Choice& choice);

// Whether `a` is what one would rather explain: a library's own choice, flat, without packets,
// plain stores, fewer lanes, in this order; the order of names decides last, so one of two always
// is.
bool IsSimpler(const Choice& a, const Choice& b);

// Whether the two are one schedule under one protocol, with other stores, lanes or slices. Short
// vectors take such choices equally long.
bool SameSchedule(const Choice& a, const Choice& b);

}  // namespace hockney
