// ucx_perftest of UCX: its CSV (-v) and its table, of one test or of a batch file (-b).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tuner/import/mpi_tests.h"
#include "tuner/import/readers.h"
#include "tuner/records/csv.h"

namespace hockney {
namespace {

// The result of one test, in microseconds.
struct Result {
  std::size_t line = 0;
  std::string test = {};  // the batch file's name for it, with the size behind it: tag_lat_8
  std::optional<std::uint64_t> size_bytes = {};
  std::optional<std::uint64_t> iterations = {};
  std::optional<double> median_us = {};
  std::optional<double> p99_us = {};
  std::optional<double> mean_us = {};  // of all iterations, not of those since the last report
};

bool IsCsvHeader(const LogLine& line) {
  return line.text.find("avg_lat") != line.text.npos &&
         line.text.find("overall_lat") != line.text.npos;
}

std::string Trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  text.erase(text.find_last_not_of(" \t") + 1);
  return text;
}

class Reader {
 public:
  explicit Reader(const LogText& log) : log_(log) {}

  std::vector<ImportedTable> Read(std::span<const LogLine> lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (IsCsvHeader(lines[i])) {
        std::size_t end = i + 1;
        while (end < lines.size() && !IsCsvHeader(lines[end])) ++end;
        ReadCsv(lines.subspan(i, end - i));
        i = end - 1;
      } else {
        TakeTableLine(lines[i]);
      }
    }
    return std::move(tables_);
  }

 private:
  void ReadCsv(std::span<const LogLine> lines);
  void TakeTableLine(const LogLine& line);
  void TakeFinal(const LogLine& line, const std::vector<LogWord>& words);
  ImportedTable& Start(std::size_t line);
  void Add(const Result& result);

  const LogText& log_;
  std::vector<ImportedTable> tables_;
  std::string test_;  // as the table of the log was last titled
  std::optional<std::uint64_t> size_bytes_;
  std::string percentile_;
};

ImportedTable& Reader::Start(std::size_t line) {
  ImportedTable& table = tables_.emplace_back();
  table.file = log_.file();
  table.line = line;
  table.format = "ucx_perftest";
  table.implementation = "ucx";
  table.library = "UCX";
  table.collectives = {Collective::kSendRecv};
  table.ranks = 2;
  table.ranks_from = "a test of one pair";
  return table;
}

// Adds the result to the table of its test.
void Reader::Add(const Result& result) {
  std::string test = result.test;
  auto size = result.size_bytes;
  const std::size_t number = test.rfind('_');
  if (number != test.npos && IsWhole(std::string_view(test).substr(number + 1))) {
    size = std::strtoull(test.c_str() + number + 1, nullptr, 10);
    test.resize(number);
  }
  const bool other =
      tables_.empty() || (tables_.back().lines > 0 && tables_.back().benchmark != test);
  ImportedTable& table = other ? Start(result.line) : tables_.back();
  if (table.lines == 0) {
    table.benchmark = test;
    if (!test.empty()) table.parameters.push_back("test=" + test);
    if (!result.median_us) table.parameters.emplace_back("statistic=mean");
  }
  table.says_size = table.says_size && size.has_value();
  ++table.lines;
  ImportedRow& each = table.rows.emplace_back();
  each.line = result.line;
  SweepRow& row = each.row;
  row.size_bytes = size.value_or(0);
  row.dtype = DataType::kUint8;
  row.in_place = false;
  row.clock = "local";
  if (test.find("lat") != test.npos) row.mode = kPingPong;
  if (test.find("bw") != test.npos) row.mode = kStream;
  row.samples = result.iterations.value_or(0);
  SetTime(row, result.mean_us);
  if (row.status == Status::kOk && result.median_us && *result.median_us > 0) {
    row.time_us_median = result.median_us;
  }
  row.time_us_p99 = result.p99_us;
}

void Reader::ReadCsv(std::span<const LogLine> lines) {
  // Empty lines keep the numbers of the file; interim results and other output are left out.
  std::string text(lines[0].number - 1, '\n');
  for (const LogLine& line : lines) {
    const bool interim = line.text.find("[thread") != line.text.npos;
    if (!interim && line.text.find(',') != line.text.npos) text += line.text;
    text += '\n';
  }
  CsvReader csv(log_.file(), std::move(text), UnfinishedLine::kRead);
  Start(lines[0].number);
  std::vector<std::string> names;
  names.reserve(csv.names().size());
  for (const std::string& name : csv.names()) names.push_back(Trimmed(name));
  std::vector<CsvField> fields;
  while (csv.Next(&fields)) {
    Result result{.line = csv.line()};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string value = Trimmed(fields[i].text);
      const auto number = [&]() -> std::optional<double> {
        if (value.empty() || IsMissing(value)) return std::nullopt;
        if (!IsNumber(value))
          csv.Fail(fields[i].column, "\"" + Shown(value) + "\": expected a number");
        return std::strtod(value.c_str(), nullptr);
      };
      const auto whole = [&]() -> std::optional<std::uint64_t> {
        if (value.empty() || IsMissing(value)) return std::nullopt;
        if (!IsWhole(value)) {
          csv.Fail(fields[i].column, "\"" + Shown(value) + "\": expected a whole number");
        }
        return std::strtoull(value.c_str(), nullptr, 10);
      };
      const std::string& name = names[i];
      if (name == "iterations") {
        result.iterations = whole();
      } else if (name == "message_size") {
        result.size_bytes = whole();
      } else if (name == "50.0_percentile_lat" || name == "typical_lat") {
        result.median_us = number();
      } else if (name == "99.0_percentile_lat") {
        result.p99_us = number();
      } else if (name == "overall_lat") {
        result.mean_us = number();
      } else if (i == 0) {
        result.test = value;  // the column's name is the batch file's
      } else {
        number();
      }
    }
    Add(result);
  }
}

void Reader::TakeTableLine(const LogLine& line) {
  const std::vector<LogWord> words = WordsOf(line, "|");
  if (words.empty()) return;
  const std::string_view first = words[0].text;
  if (line.text.find("# iterations") != line.text.npos) {
    percentile_ = words.size() > 3 ? words[3].text : "";
    Start(line.number);
  } else if (first.starts_with('+') && line.text.find("------") != line.text.npos) {
    // The name of a batch file's test is drawn into the rule above its result.
    std::string name(line.text.substr(first.find('+') + words[0].column - line.column + 1));
    name.resize(std::min(name.find_first_of("-+"), name.size()));
    if (!name.empty()) test_ = name;
  } else if (first == "Test:") {
    test_.clear();
    if (line.text.find("latency") != line.text.npos) test_ = "lat";
    if (line.text.find("bandwidth") != line.text.npos) test_ = "bw";
  } else if (first == "Message" && words.size() > 2 && words[1].text == "size:") {
    size_bytes_ = log_.Whole(line, words[2]);
  } else if (first == "Final:") {
    TakeFinal(line, words);
  }
}

void Reader::TakeFinal(const LogLine& line, const std::vector<LogWord>& words) {
  constexpr std::size_t kWords =
      9;  // Final:, iterations, three times, two rates, two message rates
  if (words.size() != kWords) {
    log_.Fail(line, fmt::format("expected {} words, found {}: \"{}\"", kWords, words.size(),
                                Shown(line.text)));
  }
  for (std::size_t i = 2; i < kWords; ++i) log_.Number(line, words[i]);
  Result result{.line = line.number, .test = test_, .size_bytes = size_bytes_};
  result.iterations = log_.Whole(line, words[1]);
  const auto percentile = log_.Number(line, words[2]);
  if (percentile_.starts_with("50.0") || percentile_ == "typical") result.median_us = percentile;
  if (percentile_.starts_with("99.0")) result.p99_us = percentile;
  result.mean_us = log_.Number(line, words[4]);
  Add(result);
}

}  // namespace

std::vector<ImportedTable> ReadUcxPerftest(const LogText& log, std::span<const LogLine> lines) {
  return Reader(log).Read(lines);
}

}  // namespace hockney
