// OSU micro-benchmarks: https://mvapich.cse.ohio-state.edu/benchmarks/
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "tuner/import/mpi_tests.h"
#include "tuner/import/readers.h"

namespace hockney {
namespace {

// What stands between "OSU MPI" and "Test" of a title.
struct Test {
  std::string_view title;
  std::optional<Collective> collective;  // none: of pairs
  std::string_view name;                 // `test=` of a pair's
};
constexpr Test kTests[] = {
    {"Allreduce Latency", Collective::kAllReduce, ""},
    {"Reduce Latency", Collective::kReduce, ""},
    {"Reduce_scatter Latency", Collective::kReduceScatter, ""},
    {"Allgather Latency", Collective::kAllGather, ""},
    {"All-to-All Personalized Exchange Latency", Collective::kAllToAll, ""},
    {"Broadcast Latency", Collective::kBroadcast, ""},
    {"Gather Latency", Collective::kGather, ""},
    {"Scatter Latency", Collective::kScatter, ""},
    {"Barrier Latency", Collective::kBarrier, ""},
    {"Latency", std::nullopt, "latency"},
    {"Multi Latency", std::nullopt, "multi_lat"},
    {"Bandwidth", std::nullopt, "bw"},
    {"Bi-Directional Bandwidth", std::nullopt, "bibw"},
    {"Multiple Bandwidth / Message Rate", std::nullopt, "mbw_mr"},
};

// A title line such as `# OSU MPI-CUDA Allreduce Latency Test v7.4`.
struct Title {
  std::string test = {};
  std::string interface = {};  // MPI, MPI-CUDA, NCCL
  std::string version = {};
};

Title ReadTitle(std::string_view text) {
  text.remove_prefix(text.find("# OSU ") + 6);
  Title title;
  const std::size_t blank = std::min(text.find(' '), text.size());
  title.interface = text.substr(0, blank);
  text.remove_prefix(std::min(blank + 1, text.size()));
  const std::size_t end = text.rfind(" Test");
  title.test = text.substr(0, end);
  if (end != text.npos) title.version = BehindKey(text.substr(end), " Test v");
  return title;
}

// The names of the columns, without blanks: "AvgLatency(us)". A name begins with a word that is
// neither a unit nor behind a word of its own kind.
std::vector<std::string> ReadColumns(const std::vector<LogWord>& words) {
  std::vector<std::string> columns;
  bool open = false;
  for (const LogWord& word : words) {
    const bool continues = open || word.text.starts_with('(');
    if (continues && !columns.empty()) {
      columns.back() += word.text;
    } else {
      columns.emplace_back(word.text);
    }
    const bool percentile = word.text.size() > 1 && word.text[0] == 'P' &&
                            IsWhole(word.text.substr(1, word.text.find('.') - 1));
    open = word.text == "Avg" || word.text == "Min" || word.text == "Max" || percentile ||
           word.text == "Tail";
  }
  return columns;
}

class Reader {
 public:
  explicit Reader(const LogText& log) : log_(log) {}

  std::vector<ImportedTable> Read(std::span<const LogLine> lines) {
    for (const LogLine& line : lines) Take(line);
    Close();
    return std::move(tables_);
  }

 private:
  void Take(const LogLine& line);
  void Start(const LogLine& line, const std::vector<LogWord>& words);
  void ChooseTest(ImportedTable& table);
  void TakeRow(const LogLine& line, const std::vector<LogWord>& words);
  void ReadField(const LogLine& line, const LogWord& word, const std::string& column,
                 SweepRow& row);
  void TakeRate(double megabytes, SweepRow& row) const;
  void Close();

  const LogText& log_;
  std::vector<ImportedTable> tables_;
  std::optional<ImportedTable> table_;
  std::vector<std::string> columns_;
  std::string last_word_;
  Title title_;
  const Test* test_ = nullptr;
  std::string type_;
  std::optional<std::uint64_t> pairs_;
};

void Reader::Close() {
  if (!table_) return;
  table_->lines = table_->rows.size();
  tables_.push_back(std::move(*table_));
  table_.reset();
}

void Reader::Take(const LogLine& line) {
  const std::vector<LogWord> words = WordsOf(line, "#");
  if (words.empty()) return;
  if (line.text.find("# OSU ") != line.text.npos) {
    Close();
    title_ = ReadTitle(line.text);
    type_.clear();
    pairs_.reset();
  } else if (words[0].text == "Datatype:" && words.size() > 1) {
    Close();
    type_ = words[1].text;
  } else if (line.text.find("[ pairs:") != line.text.npos) {
    const std::string_view pairs = BehindKey(line.text, "[ pairs:");
    if (IsWhole(pairs)) pairs_ = std::strtoull(std::string(pairs).c_str(), nullptr, 10);
  } else if (line.text.starts_with('#') && words[0].text == "Size") {
    Start(line, words);
  } else if (line.text.starts_with('#') && table_ == std::nullopt &&
             line.text.find("Latency") != line.text.npos) {
    Start(line, words);  // barrier has no sizes
  } else if (table_ && IsWhole(words[0].text) && words.size() > 1) {
    TakeRow(line, words);
  } else if (table_ && columns_[0] != "Size" && IsNumber(words[0].text)) {
    TakeRow(line, words);
  }
}

// What the title says of the table.
void Reader::ChooseTest(ImportedTable& table) {
  const auto* const found =
      std::find_if(std::begin(kTests), std::end(kTests),
                   [&](const Test& test) { return test.title == title_.test; });
  test_ = found == std::end(kTests) ? nullptr : found;
  table.benchmark = title_.test;
  table.version = title_.version;
  if (title_.interface == "NCCL" || title_.interface == "RCCL") {
    table.implementation = "nccl";
    table.library = title_.interface;
  }
  if (test_ == nullptr) {
    if (!title_.test.empty()) {
      table.unknown = fmt::format("OSU {}: no collective that hockney knows", title_.test);
    }
    return;  // without a title the user says what it is
  }
  if (test_->collective) {
    table.collectives = {*test_->collective};
    return;
  }
  table.collectives = {Collective::kSendRecv};
  if (test_->name == "mbw_mr") {
    if (!pairs_) table.unknown = "OSU mbw_mr without its line [ pairs: N ], so whose rates unknown";
    table.ranks = static_cast<int>(2 * pairs_.value_or(1));
    table.ranks_from = "pairs";
  } else if (test_->name != "multi_lat") {
    table.ranks = 2;
    table.ranks_from = "a test of one pair";
  }
}

void Reader::Start(const LogLine& line, const std::vector<LogWord>& words) {
  Close();
  table_ = StartMpiTable(log_, line, "OSU");
  columns_ = ReadColumns(words);
  last_word_.clear();
  ChooseTest(*table_);
  const auto has = [&](std::string_view text) {
    return std::any_of(columns_.begin(), columns_.end(),
                       [&](const std::string& column) { return column.find(text) != column.npos; });
  };
  table_->parameters.emplace_back(has("P50") ? "statistic=median" : "statistic=mean");
  if (test_ != nullptr && !test_->collective) {
    table_->parameters.push_back(fmt::format("test={}", test_->name));
  }
}

void Reader::TakeRow(const LogLine& line, const std::vector<LogWord>& words) {
  if (words.size() != columns_.size() || IsCut(line, words.back().text, last_word_)) {
    table_->notes.push_back(
        log_.At(line, fmt::format("left out, not a whole row of {} columns: \"{}\"",
                                  columns_.size(), Shown(line.text))));
    return;
  }
  last_word_ = words.back().text;
  ImportedRow each{.line = line.number};
  SweepRow& row = each.row;
  row.algorithm = row.requested_algorithm = "default";
  row.in_place = false;
  row.memory_kind = "host";
  for (const std::string_view device : {"CUDA", "ROCM", "NCCL", "RCCL", "OPENACC"}) {
    if (title_.interface.find(device) != title_.interface.npos) row.memory_kind = "cuda";
  }
  const bool stream = test_ != nullptr && test_->name.find("bw") != test_->name.npos;
  row.mode = stream ? kStream : kPingPong;
  row.clock = "local";
  row.op = ReduceOp::kSum;
  row.root = 0;
  row.dtype = ParseMpiType(type_);
  // Before 7.0 no type could be chosen, nor was one printed.
  const int major = std::atoi(title_.version.c_str());
  if (type_.empty() && major > 0 && major < 7) {
    const bool reduces = test_ != nullptr && test_->collective && Reduces(*test_->collective);
    row.dtype = reduces ? DataType::kFloat32 : DataType::kInt8;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) ReadField(line, words[i], columns_[i], row);
  if (!row.time_us_median && row.status == Status::kOk) SetTime(row, std::nullopt);
  table_->rows.push_back(std::move(each));
}

void Reader::ReadField(const LogLine& line, const LogWord& word, const std::string& column,
                       SweepRow& row) {
  if (column == "Size") {
    const auto size = log_.Whole(line, word);
    if (!size) log_.Fail(line, word, "a size in bytes");
    row.size_bytes = *size;
  } else if (column == "AvgLatency(us)" || column == "Latency(us)") {
    SetTime(row, log_.Number(line, word));
  } else if (column == "MinLatency(us)" || column == "MaxLatency(us)") {
    log_.Number(line, word);
    AddParameter(row, column[1] == 'i' ? "fastest_rank_us" : "slowest_rank_us", word.text);
  } else if (column == "Iterations") {
    row.samples = log_.Whole(line, word).value_or(0);
  } else if (column == "Bandwidth(MB/s)" || column == "MB/s") {
    const auto rate = log_.Number(line, word);
    if (rate) TakeRate(*rate, row);
  } else if (column.starts_with("P50")) {
    if (row.status == Status::kOk) row.time_us_median = log_.Number(line, word);
  } else if (column.starts_with("P99Tail")) {
    row.time_us_p99 = log_.Number(line, word);
  } else if (column.starts_with("P95Tail")) {
    row.time_us_p95 = log_.Number(line, word);
  } else if (column == "Validation" && word.text != "Pass") {
    if (word.text != "Fail") log_.Fail(line, word, "Pass or Fail");
    row.status = Status::kWrongData;
    row.reason = "the log's validation says Fail";
  }
}

// The time in which one rank sends a message, from MB/s (1e6) of all pairs and directions.
void Reader::TakeRate(double megabytes, SweepRow& row) const {
  double messages = 1;
  if (test_ != nullptr && test_->name == "bibw") messages = 2;
  if (test_ != nullptr && test_->name == "mbw_mr") {
    messages = static_cast<double>(pairs_.value_or(1));
  }
  if (megabytes > 0 && row.size_bytes > 0) {
    SetTime(row, messages * static_cast<double>(row.size_bytes) / megabytes);
  }
}

}  // namespace

std::vector<ImportedTable> ReadOsu(const LogText& log, std::span<const LogLine> lines) {
  return Reader(log).Read(lines);
}

}  // namespace hockney
