#include "tuner/training/parameter_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/records/csv.h"
#include "tuner/training/model_builder.h"

namespace hockney {
namespace {

constexpr std::int64_t kMostOfDimension = std::int64_t{1} << 40;
constexpr double kMostOfTensor = 0x1p53;

enum Column : std::size_t { kName, kShape, kType, kOrder };
constexpr std::array<std::string_view, 4> kColumns = {"name", "shape", "dtype", "order"};

CsvField Trimmed(const CsvField& field) {
  const std::size_t first = std::min(field.text.find_first_not_of(" \t"), field.text.size());
  const std::size_t last = field.text.find_last_not_of(" \t");
  if (first == field.text.size()) return {.text = "", .column = field.column};
  return {.text = field.text.substr(first, last - first + 1), .column = field.column + first};
}

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Row {
  std::int64_t order = 0;
  ModelParameter parameter;
};

class Reader {
 public:
  Reader(const std::string& text, const std::string& file, const ParameterCsvOptions& options)
      : csv_(file, text, UnfinishedLine::kRead), options_(options) {
    fields_.fill(kNone);
    for (std::size_t i = 0; i < csv_.names().size(); ++i) {
      const std::string name = Trimmed({.text = csv_.names()[i]}).text;
      const auto found = std::find(kColumns.begin(), kColumns.end(), name);
      if (found == kColumns.end() || FieldOf(found) != kNone) {
        csv_.Fail(1, fmt::format("\"{}\": expected the columns name, shape, dtype and, if need be, "
                                 "order, each once",
                                 name));
      }
      FieldOf(found) = i;
    }
    for (const Column column : {kName, kShape, kType}) {
      if (fields_[column] == kNone) {
        csv_.Fail(1, fmt::format("expected a column named {}", kColumns[column]));
      }
    }
  }

  // In the order of registration.
  std::vector<ModelParameter> Read() {
    std::vector<Row> rows;
    std::vector<CsvField> fields;
    while (csv_.Next(&fields)) rows.push_back(ReadRow(fields, std::ssize(rows)));
    if (rows.empty()) csv_.Fail(1, "no parameters: expected rows of name, shape and dtype");
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.order < b.order; });
    std::vector<ModelParameter> parameters;
    parameters.reserve(rows.size());
    for (Row& row : rows) parameters.push_back(std::move(row.parameter));
    return parameters;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  template <class Iterator>
  std::size_t& FieldOf(Iterator column) {
    return fields_[static_cast<std::size_t>(column - kColumns.begin())];
  }

  Row ReadRow(const std::vector<CsvField>& fields, std::int64_t row) {
    const auto field = [&](Column column) { return Trimmed(fields[fields_[column]]); };
    const CsvField name = field(kName);
    if (name.text.empty()) Fail(name, "a name");
    RequireNew(name, name.text, &lines_of_names_);
    Row read{
        .order = row,
        .parameter = {
            .name = name.text, .shape = ReadShape(field(kShape)), .type = ReadType(field(kType))}};
    if (fields_[kOrder] != kNone) {
      const CsvField order = field(kOrder);
      const auto number = WholeNumber(order.text);
      if (!number) Fail(order, "a whole number, in every row");
      RequireNew(order, *number, &lines_of_orders_);
      read.order = *number;
    }
    return read;
  }

  std::vector<std::int64_t> ReadShape(const CsvField& field) const {
    std::vector<std::int64_t> shape;
    double elements = 1;
    for (std::size_t at = 0; at <= field.text.size();) {
      const std::size_t end = std::min(field.text.find('x', at), field.text.size());
      const auto size = WholeNumber(Trimmed({.text = field.text.substr(at, end - at)}).text);
      if (!size || *size < 1 || *size > kMostOfDimension) {
        Fail(field, "sizes of 1 to 2^40 with an x between them, such as 64x3x7x7");
      }
      shape.push_back(*size);
      elements *= static_cast<double>(*size);
      at = end + 1;
    }
    if (elements > kMostOfTensor) Fail(field, "at most 2^53 elements");
    return shape;
  }

  DataType ReadType(const CsvField& field) const {
    constexpr std::string_view kTorch = "torch.";
    std::string_view text = field.text;
    if (text.starts_with(kTorch)) text.remove_prefix(kTorch.size());
    const auto type = ParseDataType(text);
    if (!type || !IsFloat(*type)) {
      std::vector<std::string_view> names;
      for (const DataType each : kAllDataTypes) {
        if (IsFloat(each)) names.push_back(Name(each));
      }
      Fail(field, fmt::format("one of {}", fmt::join(names, ", ")));
    }
    return options_.type.value_or(*type);
  }

  template <class Value>
  void RequireNew(const CsvField& field, const Value& value,
                  std::map<Value, std::size_t>* lines) const {
    const auto [found, added] = lines->emplace(value, csv_.line());
    if (!added) Fail(field, fmt::format("each once, and line {} has it", found->second));
  }

  [[noreturn]] void Fail(const CsvField& field, std::string_view expected) const {
    csv_.Fail(field.column, fmt::format("\"{}\": expected {}", field.text, expected));
  }

  CsvReader csv_;
  const ParameterCsvOptions& options_;
  std::array<std::size_t, kColumns.size()> fields_ = {};  // by Column
  std::map<std::string, std::size_t> lines_of_names_;
  std::map<std::int64_t, std::size_t> lines_of_orders_;
};

bool IsNumber(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the name up to its first part that is a number, "" if the parts before the last have
// none.
std::string_view BlockOf(std::string_view name) {
  for (std::size_t begin = 0;;) {
    const std::size_t end = name.find_first_of("./", begin);
    if (end == std::string_view::npos) return {};
    if (IsNumber(name.substr(begin, end - begin))) return name.substr(0, end);
    begin = end + 1;
  }
}

std::string ModuleOf(std::string_view name) {
  const std::size_t end = name.find_last_of("./");
  return std::string(name.substr(0, end));  // the whole where there is none
}

}  // namespace

ModelDescription ParseParameterCsv(const std::string& text, const std::string& file,
                                   const ParameterCsvOptions& options) {
  ModelBuilder builder(file, "list of parameters");
  std::optional<std::string> unit;  // block of the parameter before
  for (ModelParameter& parameter : Reader(text, file, options).Read()) {
    const std::string block(BlockOf(parameter.name));
    if (unit != block) {
      builder.BeginUnit(block.empty() ? ModuleOf(parameter.name) : block, !block.empty());
      unit = block;
    }
    if (parameter.shape.size() >= 2) {
      builder.AddFlops(2 * static_cast<double>(Elements(parameter)) *
                       static_cast<double>(options.tokens_per_sample));
    }
    builder.Add(std::move(parameter));
  }
  ModelDescription model = std::move(builder).Take();
  model.tokens_per_sample = options.tokens_per_sample;
  return model;
}

}  // namespace hockney
