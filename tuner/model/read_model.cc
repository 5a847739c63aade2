#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "topology/check.h"
#include "topology/input_file.h"
#include "topology/json_reader.h"
#include "tuner/model/model.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// A value of the file and the way to it, for messages.
class Value {
 public:
  Value(const std::string& file, const Json& json, std::string path)
      : file_(file), json_(json), path_(std::move(path)) {}

  [[noreturn]] void Fail(std::string_view expected) const {
    constexpr std::size_t kLongest = 60;
    std::string found = json_.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > kLongest) found = found.substr(0, kLongest) + "...";
    throw InputError(fmt::format("{}: {}: {}: expected {}", file_,
                                 path_.empty() ? "the whole" : path_, found, expected));
  }

  Value operator[](const char* key) const {
    if (!json_.is_object()) Fail("an object");
    const auto found = json_.find(key);
    if (found == json_.end()) Fail(fmt::format("a member \"{}\"", key));
    return {file_, *found, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
  }

  // What `read` makes of each entry.
  template <class Read>
  auto Each(const Read& read) const {
    if (!json_.is_array()) Fail("an array");
    std::vector<decltype(read(*this))> all;
    all.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) {
      all.push_back(read(Value(file_, json_[i], fmt::format("{}[{}]", path_, i))));
    }
    return all;
  }

  // What `read` makes of it, or nothing for null.
  template <class Read>
  auto OrNull(const Read& read) const -> std::optional<decltype(read(*this))> {
    if (json_.is_null()) return std::nullopt;
    return read(*this);
  }

  double Number() const {
    if (!json_.is_number()) Fail("a number");
    const auto value = json_.get<double>();
    if (!std::isfinite(value)) Fail("a finite number");
    return value;
  }
  double NumberFrom(double least) const {
    const double value = Number();
    if (value < least) Fail(fmt::format("a number of at least {}", least));
    return value;
  }
  // A share, NaN for null.
  double ShareOrNaN() const {
    return json_.is_null() ? std::numeric_limits<double>::quiet_NaN() : NumberFrom(0);
  }
  std::int64_t Count() const {
    constexpr double kMost = 9e15;  // doubles hold every whole number up to it
    const bool is_count =
        json_.is_number_integer() && json_.get<double>() >= 0 && json_.get<double>() <= kMost;
    if (!is_count) Fail("a whole number");
    return json_.get<std::int64_t>();
  }
  bool Bool() const {
    if (!json_.is_boolean()) Fail("true or false");
    return json_.get<bool>();
  }
  std::string Text() const {
    if (!json_.is_string()) Fail("a text");
    return json_.get<std::string>();
  }
  // A text that `parse` knows.
  template <class Parse>
  auto Named(const Parse& parse, const char* what) const {
    const auto found = parse(Text());
    if (!found) Fail(what);
    return *found;
  }

 private:
  const std::string& file_;
  const Json& json_;
  std::string path_;
};

PiecewiseFit ReadFit(const Value& value) {
  const Value list = value["segments"];
  std::vector<Segment> segments = list.Each([](const Value& each) {
    return Segment{.begin_bytes = each["begin_bytes"].NumberFrom(0),
                   .alpha_seconds = each["alpha_us"].Number() / 1e6,
                   .beta_seconds_per_byte = each["ns_per_byte"].NumberFrom(0) / 1e9};
  });
  std::optional<PiecewiseLine> line;
  try {
    line.emplace(std::move(segments));
  } catch (const std::invalid_argument& error) {
    list.Fail(fmt::format("segments of growing times ({})", error.what()));
  }
  return {.line = *line,
          .points = static_cast<std::size_t>(value["points"].Count()),
          .mean_error = value["mean_error"].NumberFrom(0),
          .largest_error = value["largest_error"].NumberFrom(0),
          .held_out_error = value["held_out_error"].ShareOrNaN(),
          .outliers = value["outliers"].Each([](const Value& each) {
            return Outlier{.bytes = each["bytes"].NumberFrom(0),
                           .seconds = each["time_us"].NumberFrom(0) / 1e6,
                           .fitted_seconds = each["fitted_us"].NumberFrom(0) / 1e6};
          })};
}

LevelModel::Saturation ReadSaturation(const Value& value) {
  return {.one_GBps = value["one_GBps"].NumberFrom(0),
          .all_GBps = value["all_GBps"].NumberFrom(0),
          .most_pairs = value["most_pairs"].Count(),
          .points = static_cast<std::size_t>(value["points"].Count())};
}

LevelModel ReadLevel(const Value& value) {
  const auto number = [](const Value& each) { return each.NumberFrom(0); };
  return {.level = value["level"].Text(),
          .fit = ReadFit(value["fit"]),
          .duplex_ratio = value["duplex_ratio"].OrNull(number),
          .duplex_points = static_cast<std::size_t>(value["duplex_points"].Count()),
          .saturation = value["saturation"].OrNull(ReadSaturation),
          .gap_us = value["gap_us"].OrNull(number),
          .overhead_us = value["overhead_us"].OrNull(number)};
}

AlgorithmModel ReadAlgorithm(const Value& value) {
  return {.collective = value["collective"].Named(ParseCollective, "the name of a collective"),
          .variant = value["variant"].Text(),
          .ranks = value["ranks"].Count(),
          .nodes = value["nodes"].Count(),
          .in_place = value["in_place"].Bool(),
          .memory_kind = value["memory_kind"].Text(),
          .dtype = value["dtype"].Text(),
          .op = value["op"].Text(),
          .mode = value["mode"].Text(),
          .fit = ReadFit(value["fit"])};
}

KernelModel ReadKernel(const Value& value) {
  const auto figure = [](double unit) {
    return [unit](const Value& each) {
      return Measured{.value = each["value"].NumberFrom(0) / unit,
                      .points = static_cast<std::size_t>(each["points"].Count()),
                      .spread = each["spread"].ShareOrNaN()};
    };
  };
  return {.kernel = value["kernel"].Text(),
          .dtype = value["dtype"].Named(ParseDataType, "the name of a type"),
          .size_class = value["size_class"].Text(),
          .store = value["store"].Text(),
          .seconds_per_byte = value["ns_per_byte"].OrNull(figure(1e9)),
          .gamma_seconds_per_byte = value["gamma_ns_per_byte"].OrNull(figure(1e9)),
          .node_GBps = value["node_GBps"].OrNull(figure(1)),
          .node_ranks = value["node_ranks"].Count()};
}

Json Parse(const std::string& text, const std::string& path) {
  RequireShallowJson(text, path);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const TextPosition at = PositionAt(text, error.byte > 0 ? error.byte - 1 : 0);
    FailInput(path, at, "expected JSON as hockney fit writes it");
  } catch (const Json::exception& error) {  // a number out of all bounds
    throw InputError(
        fmt::format("{}: {}: expected JSON as hockney fit writes it", path, error.what()));
  }
}

}  // namespace

Model ReadModel(const std::string& path) {
  const Json json = Parse(ReadInputFile(path), path);
  const Value root(path, json, "");
  if (root["schema"].Text() != Model::kSchema) {
    root["schema"].Fail(fmt::format("\"{}\"", Model::kSchema));
  }
  if (root["version"].Count() != Model::kVersion) {
    root["version"].Fail(fmt::format("{}, the only version this program reads", Model::kVersion));
  }
  const auto text = [](const Value& each) { return each.Text(); };
  return {.runs = root["runs"].Each(text),
          .levels = root["levels"].Each(ReadLevel),
          .algorithms = root["algorithms"].Each(ReadAlgorithm),
          .kernels = root["kernels"].Each(ReadKernel),
          .refused = root["refused"].Each(text)};
}

}  // namespace hockney
