#include "tuner/records/fields.h"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <stdexcept>
#include <system_error>

#include "tuner/records/csv.h"

namespace hockney {
namespace {

constexpr std::array kAllStatuses = {Status::kOk, Status::kSkipped, Status::kFailed,
                                     Status::kTimeout, Status::kWrongData};

template <class T>
concept Number =
    std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double>;

template <Number T>
std::string FormatNumber(T value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <Number T>
void ParseNumber(std::string_view text, T* value, const char* expected) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  if (error == std::errc::result_out_of_range) {
    throw std::invalid_argument(std::string(expected) + " within 64 bits");
  }
  if (error != std::errc() || stop != end) throw std::invalid_argument(expected);
}

// Stores a parsed enumerator, or throws with the names that would be accepted.
template <class T, class All>
requires std::same_as<typename All::value_type, T>
void StoreNamed(std::optional<T> parsed, const All& all, T* value) {
  if (parsed) {
    *value = *parsed;
    return;
  }
  std::string expected = "expected one of";
  for (const T candidate : all) expected.append(" ").append(Name(candidate));
  throw std::invalid_argument(expected);
}

}  // namespace

std::string_view Name(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kSkipped:
      return "skipped";
    case Status::kFailed:
      return "failed";
    case Status::kTimeout:
      return "timeout";
    case Status::kWrongData:
      return "wrong_data";
  }
  throw std::invalid_argument("status outside its enumeration");
}

std::string FormatField(const std::string& value) { return CsvText(value); }
std::string FormatField(std::int64_t value) { return FormatNumber(value); }
std::string FormatField(std::uint64_t value) { return FormatNumber(value); }
std::string FormatField(double value) {
  return std::isfinite(value) ? FormatNumber(value) : std::string();
}
std::string FormatField(bool value) { return value ? "true" : "false"; }
std::string FormatField(Status value) { return std::string(Name(value)); }
std::string FormatField(Collective value) { return std::string(Name(value)); }
std::string FormatField(DataType value) { return std::string(Name(value)); }
std::string FormatField(ReduceOp value) { return std::string(Name(value)); }

void ParseField(std::string_view text, std::string* value) { *value = text; }
void ParseField(std::string_view text, std::int64_t* value) {
  ParseNumber(text, value, "expected a whole number");
}
void ParseField(std::string_view text, std::uint64_t* value) {
  ParseNumber(text, value, "expected a whole number >= 0");
}
void ParseField(std::string_view text, double* value) {
  ParseNumber(text, value, "expected a number");
  if (!std::isfinite(*value)) throw std::invalid_argument("expected a finite number");
}
void ParseField(std::string_view text, bool* value) {
  *value = text == "true" || text == "1";
  if (!*value && text != "false" && text != "0") {
    throw std::invalid_argument("expected true or false");
  }
}
void ParseField(std::string_view text, Status* value) {
  std::optional<Status> parsed;
  for (const Status candidate : kAllStatuses) {
    if (text == Name(candidate)) parsed = candidate;
  }
  StoreNamed(parsed, kAllStatuses, value);
}
void ParseField(std::string_view text, Collective* value) {
  StoreNamed(ParseCollective(text), kAllCollectives, value);
}
void ParseField(std::string_view text, DataType* value) {
  StoreNamed(ParseDataType(text), kAllDataTypes, value);
}
void ParseField(std::string_view text, ReduceOp* value) {
  StoreNamed(ParseReduceOp(text), kAllReduceOps, value);
}

}  // namespace hockney
