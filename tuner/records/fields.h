#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/types.h"

namespace hockney {

// How a measurement ended.
enum class Status : std::uint8_t { kOk, kSkipped, kFailed, kTimeout, kWrongData };
std::string_view Name(Status status);  // ok, skipped, failed, timeout, wrong_data

// Returns a value as the text of one field. Doubles are the shortest text that reads back to the
// same bits; one that is not finite is undefined and gives an empty field, as a missing optional
// does. Text throws as CsvText does.
std::string FormatField(const std::string& value);
std::string FormatField(std::int64_t value);
std::string FormatField(std::uint64_t value);
std::string FormatField(double value);
std::string FormatField(bool value);  // true, false
std::string FormatField(Status value);
std::string FormatField(Collective value);
std::string FormatField(DataType value);
std::string FormatField(ReduceOp value);

template <class T>
std::string FormatField(const std::optional<T>& value) {
  return value ? FormatField(*value) : std::string();
}

// Reads the text of one field. Throws std::invalid_argument whose what() says what would be
// accepted. Only an optional takes an empty text; it becomes missing, never 0.
void ParseField(std::string_view text, std::string* value);
void ParseField(std::string_view text, std::int64_t* value);
void ParseField(std::string_view text, std::uint64_t* value);
void ParseField(std::string_view text, double* value);
void ParseField(std::string_view text, bool* value);  // true, false, 1, 0
void ParseField(std::string_view text, Status* value);
void ParseField(std::string_view text, Collective* value);
void ParseField(std::string_view text, DataType* value);
void ParseField(std::string_view text, ReduceOp* value);

template <class T>
void ParseField(std::string_view text, std::optional<T>* value) {
  value->reset();
  if (!text.empty()) ParseField(text, &value->emplace());
}

}  // namespace hockney
