#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "topology/input_file.h"
#include "topology/json_reader.h"
#include "tuner/import/nccl_tests.h"
#include "tuner/import/readers.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// Reads fields of one document; what is not as the schema says throws InputError naming the field.
class Document {
 public:
  Document(const LogText& log, std::size_t line) : log_(log), line_(line) {}

  // The member, null if there is none.
  static const Json& Member(const Json& object, std::string_view key) {
    static const Json kNull;
    if (!object.is_object()) return kNull;
    const auto found = object.find(key);
    return found == object.end() ? kNull : *found;
  }

  // Nothing for null, N/A and nan, which nccl-tests writes as text.
  std::optional<double> Number(const Json& value, const std::string& where) const {
    if (value.is_null()) return std::nullopt;
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) {
      const std::string text = Trimmed(value.get<std::string>());
      if (IsMissing(text)) return std::nullopt;
      if (IsNumber(text)) return std::strtod(text.c_str(), nullptr);
    }
    Fail(value, where, "a number or null");
  }

  std::optional<std::uint64_t> Whole(const Json& value, const std::string& where) const {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    const auto number = Number(value, where);
    if (!number) return std::nullopt;
    if (*number < 0 || *number >= 1e18 ||
        *number != static_cast<double>(static_cast<std::uint64_t>(*number))) {
      Fail(value, where, "a whole number");
    }
    return static_cast<std::uint64_t>(*number);
  }

  static std::string Text(const Json& value) {
    return value.is_string() ? Trimmed(value.get<std::string>()) : std::string();
  }

  [[noreturn]] void Fail(const Json& value, const std::string& where,
                         std::string_view expected) const {
    FailInput(
        log_.file(), {.line = line_},
        fmt::format("{}: {}: expected {}", where,
                    Shown(value.dump(-1, ' ', false, Json::error_handler_t::replace)), expected));
  }

 private:
  static std::string Trimmed(std::string text) {
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  const LogText& log_;
  std::size_t line_;
};

// The document as text, from the first to the last byte of the lines.
Json Parse(const LogText& log, std::span<const LogLine> lines) {
  const char* const begin = lines.front().text.data();
  const char* const end = lines.back().text.data() + lines.back().text.size();
  RequireShallowJson({begin, end}, log.file());
  try {
    return Json::parse(begin, end);
  } catch (const Json::parse_error& error) {
    const std::string_view text(begin, static_cast<std::size_t>(end - begin));
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    TextPosition at = PositionAt(text, byte);
    at.line += lines.front().number - 1;
    FailInput(log.file(), at,
              byte + 1 >= text.size()
                  ? "the JSON ends too early, as that of a killed run does: expected a whole value"
                  : fmt::format("\"{}\": no JSON", Shown(text.substr(byte, 20))));
  }
}

void ReadLibrary(const Json& document, NcclTestsFacts& facts) {
  const Json& version = Document::Member(document, "nccl_version");
  std::string text = Document::Text(version);
  if (version.is_number_unsigned() || IsWhole(text)) {
    facts.library =
        NcclVersionText(version.is_number_unsigned() ? version.get<std::uint64_t>()
                                                     : std::strtoull(text.c_str(), nullptr, 10));
  } else if (!text.empty()) {
    text = text.substr(0, text.find_first_of("+-"));
    facts.library = text.find("NCCL") == text.npos ? "NCCL " + text : text;
  }
}

void ReadDevices(const Document& read, const Json& config, NcclTestsFacts& facts) {
  std::set<std::pair<std::string, std::int64_t>> processes;
  for (const Json& each : Document::Member(config, "devices")) {
    NcclTestsDevice& device = facts.devices.emplace_back();
    const auto number = [&](const char* key) {
      const auto value = read.Whole(Document::Member(each, key), fmt::format("devices: {}", key));
      return static_cast<std::int64_t>(value.value_or(0));
    };
    device.rank = number("rank");
    device.group = number("group");
    device.pid = number("pid");
    device.host = Document::Text(Document::Member(each, "hostname"));
    device.name = Document::Text(Document::Member(each, "device_info"));
    processes.emplace(device.host, device.pid);
    facts.is_hockney |= device.name == "CPU" || device.name.starts_with("CPU ");
    facts.is_rccl |= device.name.find("AMD Instinct") != device.name.npos;
  }
  // nccl-tests lists only the first device of each process (one line of its text).
  const auto count = [&](const char* key) {
    return read.Whole(Document::Member(config, key), key).value_or(1);
  };
  const std::uint64_t each = count("nthreads") * count("ngpus");
  if (facts.is_hockney || each <= 1 || processes.size() < facts.devices.size()) return;
  std::vector<NcclTestsDevice> all;
  all.reserve(facts.devices.size() * std::min<std::uint64_t>(each, 4096));
  for (const NcclTestsDevice& device : facts.devices) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(each, 4096); ++i) {
      all.push_back(device);
      all.back().rank = static_cast<std::int64_t>(all.size()) - 1;
    }
  }
  facts.devices = std::move(all);
}

NcclTestsFacts ReadFacts(const Document& read, const Json& document) {
  NcclTestsFacts facts;
  const Json& config = Document::Member(document, "config");
  ReadLibrary(document, facts);
  facts.iterations = read.Whole(Document::Member(config, "iterations"), "config.iterations");
  if (facts.iterations == 0U) facts.iterations.reset();
  const auto graph = read.Whole(Document::Member(config, "graph"), "config.graph").value_or(0);
  if (graph > 0) facts.graph = static_cast<std::int64_t>(facts.iterations.value_or(graph));
  bool first = true;
  for (const Json& word : Document::Member(document, "args")) {
    const std::string text = Document::Text(word);
    if (text == "mpi" || text.ends_with("=mpi")) facts.choices = {"mpi"};
    const auto collective = CollectiveOfTest(text);
    if (std::exchange(first, false) && text.find("_perf") != text.npos) {
      facts.program = text.substr(text.rfind('/') + 1);
    }
    if (collective && facts.hints.empty()) facts.hints = {*collective};
  }
  ReadDevices(read, config, facts);
  return facts;
}

NcclTestsSide ReadSide(const Document& read, const Json& side, const std::string& where) {
  constexpr double kHalfUnit = 0.005;  // of the text's; how many digits stand here differs
  const auto number = [&](const char* key) {
    return read.Number(Document::Member(side, key), where + "." + key);
  };
  const auto printed = [&](const char* key) -> std::optional<PrintedNumber> {
    const auto value = number(key);
    return value ? std::optional<PrintedNumber>({*value, kHalfUnit}) : std::nullopt;
  };
  NcclTestsSide result{.time_us = number("time"),
                       .algbw = printed("alg_bw"),
                       .busbw = printed("bus_bw"),
                       .wrong = number("nwrong")};
  if (!result.time_us) result.time_us = number("cpu_time");
  return result;
}

void ReadRow(const Document& read, const Json& result, const std::string& where,
             ImportedTable& table, NcclTestsShape& shape) {
  ImportedRow base{.line = table.line};
  SweepRow& row = base.row;
  const auto member = [&](const char* key) -> const Json& { return Document::Member(result, key); };
  const auto size = read.Whole(member("size"), where + ".size");
  if (!size) read.Fail(member("size"), where + ".size", "a whole number");
  row.size_bytes = *size;
  row.count = read.Whole(member("count"), where + ".count");
  row.dtype = ParseDataType(Document::Text(member("type")));
  if (!row.dtype) read.Fail(member("type"), where + ".type", "a type such as float or half");
  const std::string op = Document::Text(member("redop"));
  row.op = ParseReduceOp(op);
  (op == "none" || op.empty() ? shape.any_none : shape.any_op) = true;
  const auto root = read.Number(member("root"), where + ".root");
  if (root && *root >= 0) {
    row.root = static_cast<std::int64_t>(*root);
    shape.any_root = true;
  }
  row.samples = read.Whole(member("actual_iterations"), where + ".actual_iterations").value_or(0);
  AddNcclTestsRow(table, base, ReadSide(read, member("out_of_place"), where + ".out_of_place"),
                  ReadSide(read, member("in_place"), where + ".in_place"), shape);
}

}  // namespace

std::vector<ImportedTable> ReadNcclTestsJson(const LogText& log, std::span<const LogLine> lines) {
  const Json document = Parse(log, lines);
  const std::size_t line = lines.front().number;
  const Document read(log, line);
  const Json& results = Document::Member(document, "results");
  if (!results.is_array()) {
    read.Fail(document, "JSON", "nccl-tests' file of -J, with a list \"results\"");
  }
  const NcclTestsFacts facts = ReadFacts(read, document);
  NcclTestsShape shape;
  ImportedTable table{.file = log.file(), .line = line};
  for (std::size_t i = 0; i < results.size(); ++i) {
    ReadRow(read, results[i], fmt::format("results[{}]", i), table, shape);
  }
  const Json& average = Document::Member(document, "average_bus_bandwidth");
  table.average_busbw = read.Number(Document::Member(average, "bandwidth"), "bandwidth");
  FinishNcclTestsTable(table, facts, shape);
  return {std::move(table)};
}

}  // namespace hockney
