// Intel MPI Benchmarks:
// https://www.intel.com/content/www/us/en/docs/mpi-library/user-guide-benchmarks
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tuner/import/mpi_tests.h"
#include "tuner/import/readers.h"

namespace hockney {
namespace {

// What stands in the log's head, of all its tables.
struct Head {
  std::string version = {};
  std::string type = {};            // MPI_BYTE
  std::string reduction_type = {};  // MPI_FLOAT
  std::string op = {};
};

class Reader {
 public:
  explicit Reader(const LogText& log) : log_(log) {}

  std::vector<ImportedTable> Read(std::span<const LogLine> lines) {
    for (const LogLine& line : lines) Take(line);
    Close();
    return std::move(tables_);
  }

 private:
  using Words = std::vector<LogWord>;

  void Take(const LogLine& line);
  bool TakeHead(const LogLine& line, const Words& words);
  void Start(const LogLine& line, const Words& words);
  void ChooseBenchmark(ImportedTable& table) const;
  void TakeRow(const LogLine& line, const Words& words);
  ImportedRow NewRow(const LogLine& line) const;
  void ReadField(const LogLine& line, const LogWord& word, std::string_view column,
                 SweepRow& row) const;
  void Close();

  bool OfPair() const { return benchmark_.starts_with("PingP"); }
  bool HasSizes() const { return columns_[0] == "#bytes"; }

  const LogText& log_;
  std::vector<ImportedTable> tables_;
  std::optional<ImportedTable> table_;
  std::vector<std::string> columns_;
  std::string last_word_;
  Head head_;
  std::string benchmark_;
  std::optional<int> processes_;
  bool groups_ = false;
};

void Reader::Close() {
  if (!table_) return;
  table_->lines = table_->rows.size();
  tables_.push_back(std::move(*table_));
  table_.reset();
}

void Reader::Take(const LogLine& line) {
  const Words words = WordsOf(line);
  if (words.empty()) return;
  if (words[0].text == "#bytes" || words[0].text == "#repetitions") {
    Start(line, words);
  } else if (words[0].text.starts_with('#')) {
    TakeHead(line, WordsOf(line, "#"));
  } else if (table_ && IsWhole(words[0].text) && words.size() > 1) {
    TakeRow(line, words);
  }
}

bool Reader::TakeHead(const LogLine& line, const Words& words) {
  if (words.empty()) return false;
  const auto value = [&] { return std::string(words.back().text); };
  const std::size_t version = line.text.find("Intel(R) MPI Benchmarks");
  if (version != line.text.npos) {
    Close();
    head_ = {.version = std::string(BehindKey(line.text, "Intel(R) MPI Benchmarks"))};
    benchmark_.clear();
  } else if (words[0].text == "Benchmarking" && words.size() > 1) {
    Close();
    benchmark_ = words[1].text;
    processes_.reset();
    groups_ = false;
  } else if (words[0].text == "processes" && words.size() > 2 && IsWhole(words[2].text)) {
    processes_ = static_cast<int>(log_.Whole(line, words[2]).value_or(0));
  } else if (line.text.find("groups of") != line.text.npos) {
    groups_ = true;
  } else if (words[0].text == "MPI_Datatype") {
    const bool reductions = words.size() > 2 && words[1].text == "for";
    (reductions ? head_.reduction_type : head_.type) = value();
  } else if (words[0].text == "MPI_Op") {
    head_.op = value();
  }
  return true;
}

void Reader::ChooseBenchmark(ImportedTable& table) const {
  table.benchmark = benchmark_;
  table.version = head_.version;
  if (groups_) {
    table.unknown = fmt::format("IMB {}: of several groups at once", benchmark_);
  } else if (OfPair() || benchmark_ == "Sendrecv") {
    table.collectives = {Collective::kSendRecv};
    std::string test = benchmark_;
    std::transform(test.begin(), test.end(), test.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    table.parameters.push_back("test=" + test);
  } else if (!benchmark_.empty()) {
    const auto collective = ParseCollective(benchmark_);
    if (collective && *collective != Collective::kAllToAllV) {
      table.collectives = {*collective};
    } else {
      table.unknown = fmt::format("IMB {}: no collective that hockney knows", benchmark_);
    }
  }
}

void Reader::Start(const LogLine& line, const Words& words) {
  Close();
  table_ = StartMpiTable(log_, line, "IMB");
  columns_.clear();
  columns_.reserve(words.size());
  for (const LogWord& word : words) columns_.emplace_back(word.text);
  last_word_.clear();
  table_->parameters.emplace_back("statistic=mean");
  ChooseBenchmark(*table_);
  table_->ranks = processes_;
  table_->ranks_from = "#processes";
}

ImportedRow Reader::NewRow(const LogLine& line) const {
  ImportedRow each{.line = line.number};
  SweepRow& row = each.row;
  row.algorithm = row.requested_algorithm = "default";
  row.in_place = false;
  row.memory_kind = "host";
  row.mode = benchmark_.starts_with("PingPong") ? kPingPong : kStream;
  row.clock = "local";
  const bool reduces = !table_->collectives.empty() && Reduces(table_->collectives[0]);
  row.dtype = ParseMpiType(reduces ? head_.reduction_type : head_.type);
  if (reduces) row.op = ParseMpiOp(head_.op);
  return each;
}

void Reader::TakeRow(const LogLine& line, const Words& words) {
  ImportedRow each = NewRow(line);
  SweepRow& row = each.row;
  // `8192 time-out.; Time limit ...`, and the like where memory or a count is not enough.
  const std::string_view second = words[1].text;
  if (HasSizes() && !IsNumber(second) && second.find_first_of(".;") != second.npos) {
    ReadField(line, words[0], columns_[0], row);
    row.status = second.starts_with("time-out") ? Status::kTimeout : Status::kFailed;
    row.reason = Shown(line.text.substr(words[1].column - line.column));
    table_->rows.push_back(std::move(each));
    return;
  }
  if (words.size() != columns_.size() || IsCut(line, words.back().text, last_word_)) {
    table_->notes.push_back(
        log_.At(line, fmt::format("left out, not a whole row of {} columns: \"{}\"",
                                  columns_.size(), Shown(line.text))));
    return;
  }
  last_word_ = words.back().text;
  for (std::size_t i = 0; i < columns_.size(); ++i) ReadField(line, words[i], columns_[i], row);
  if (!row.time_us_median && row.status == Status::kOk) SetTime(row, std::nullopt);
  table_->rows.push_back(std::move(each));
}

void Reader::ReadField(const LogLine& line, const LogWord& word, std::string_view column,
                       SweepRow& row) const {
  if (column == "#bytes") {
    const auto size = log_.Whole(line, word);
    if (!size) log_.Fail(line, word, "a size in bytes");
    row.size_bytes = *size;
  } else if (column == "#repetitions") {
    row.samples = log_.Whole(line, word).value_or(0);
  } else if (column == "t[usec]" || column == "t_avg[usec]") {
    SetTime(row, log_.Number(line, word));
  } else if (column == "t_min[usec]" || column == "t_max[usec]") {
    log_.Number(line, word);
    AddParameter(row, column[3] == 'i' ? "fastest_rank_us" : "slowest_rank_us", word.text);
  }
}

}  // namespace

std::vector<ImportedTable> ReadImb(const LogText& log, std::span<const LogLine> lines) {
  return Reader(log).Read(lines);
}

}  // namespace hockney
