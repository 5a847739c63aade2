#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "tuner/import/nccl_tests.h"
#include "tuner/import/readers.h"

namespace hockney {
namespace {

using Words = std::vector<LogWord>;

bool StartsWith(const Words& words, std::initializer_list<std::string_view> texts) {
  return words.size() >= texts.size() &&
         std::equal(texts.begin(), texts.end(), words.begin(),
                    [](std::string_view text, const LogWord& word) { return word.text == text; });
}

// How many words a line has whose header is missing, by its columns.
std::vector<std::string> GuessColumns(const Words& words) {
  std::vector<std::string> columns = {"size", "count", "type"};
  const std::size_t kinds = words.size() < 11 ? 0 : words.size() - 11;
  if (kinds == 1) columns.emplace_back(IsNumber(words[3].text) ? "root" : "redop");
  if (kinds == 2) columns.insert(columns.end(), {"redop", "root"});
  for (int side = 0; side < 2; ++side) {
    columns.insert(columns.end(), {"time", "algbw", "busbw", "wrong"});
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
  bool TakeFact(const LogLine& line, const Words& words);
  bool TakePreamble(const LogLine& line, const Words& words);
  bool TakeDevice(const LogLine& line, const Words& words);
  void TakeProgram(const LogLine& line);
  void TakeRow(const LogLine& line, const Words& words);
  bool LooksLikeRow(const Words& words) const;
  std::vector<std::string> ColumnsFor(const Words& words) const;
  void ReadColumns(const LogLine& line, const Words& words,
                   const std::vector<std::string>& columns);
  void StartTable(const LogLine& line, std::vector<std::string> columns);
  // Ends the open table; what is read next is of another run.
  void Close();

  const LogText& log_;
  std::vector<ImportedTable> tables_;
  NcclTestsFacts facts_;
  NcclTestsShape shape_;
  std::optional<ImportedTable> table_;
  std::vector<std::string> columns_;
  bool ended_ = false;  // the lines behind the rows began
};

void Reader::StartTable(const LogLine& line, std::vector<std::string> columns) {
  const auto has = [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  table_.emplace();
  table_->file = log_.file();
  table_->line = line.number;
  shape_ = {.has_redop = has("redop"), .has_root = has("root"), .counts_errors = !has("error")};
  columns_ = std::move(columns);
  ended_ = false;
}

void Reader::Close() {
  if (!table_) return;
  const bool had_rows = !table_->rows.empty();
  FinishNcclTestsTable(*table_, facts_, shape_);
  tables_.push_back(std::move(*table_));
  table_.reset();
  if (had_rows) facts_ = {};
}

void Reader::Take(const LogLine& line) {
  const Words words = WordsOf(line, "#");
  if (words.empty()) return;
  if (IsNcclTestsHeader(words)) {
    Close();
    std::vector<std::string> columns;
    columns.reserve(words.size());
    for (const LogWord& word : words) columns.emplace_back(word.text);
    StartTable(line, std::move(columns));
    return;
  }
  if (TakeFact(line, words)) return;
  if (words[0].text == "..." && table_) {
    table_->notes.push_back(log_.At(line, "rows were left out here"));
  } else if (LooksLikeRow(words)) {
    TakeRow(line, words);
  }
}

// Lines around the table.
bool Reader::TakeFact(const LogLine& line, const Words& words) {
  if (StartsWith(words, {"Avg", "bus", "bandwidth"})) {
    ended_ = true;
    if (table_ && words.size() > 4 && IsNumber(words[4].text)) {
      table_->average_busbw = log_.Number(line, words[4]);
    }
    return true;
  }
  if (StartsWith(words, {"Out", "of", "bounds"})) {
    ended_ = true;
    return true;
  }
  if (StartsWith(words, {"Collective", "test", "concluded:"})) {
    if (facts_.program.empty() && table_) TakeProgram(line);
    return true;
  }
  const std::size_t by = line.text.find("-place by: ");  // hockney says what was fastest
  if (by != line.text.npos) {
    // "ring from 8, mpi from 1M"
    const std::string_view choices = line.text.substr(by + 11);
    for (std::size_t at = 0; at < choices.size();) {
      const std::size_t end = std::min(choices.find(", ", at), choices.size());
      facts_.choices.emplace_back(choices.substr(at, end - at));
      at = end + 2;
    }
    return true;
  }
  if (TakePreamble(line, words) || TakeDevice(line, words)) return true;
  if (line.text.find("CCL version ") != line.text.npos) {
    const std::string_view version = BehindKey(line.text, "CCL version");
    facts_.is_rccl |= line.text.find("RCCL version") != line.text.npos;
    facts_.library = fmt::format("{} {}", facts_.is_rccl ? "RCCL" : "NCCL",
                                 version.substr(0, version.find_first_of("+-")));
    return true;
  }
  if (line.text.find("_perf") != line.text.npos) TakeProgram(line);
  return false;
}

// Lines that begin another run.
bool Reader::TakePreamble(const LogLine& line, const Words& words) {
  const bool devices = StartsWith(words, {"Using", "devices"});
  const bool parameters = words[0].text == "nThread";
  const bool start = StartsWith(words, {"Collective", "test", "starting:"});
  const bool nccl = StartsWith(words, {"nccl-tests", "version"});
  const bool hockney = StartsWith(words, {"hockney", "version"});
  const bool rccl = words[0].text == "rccl-tests:";
  if (!devices && !parameters && !start && !nccl && !hockney && !rccl) return false;
  if (table_ && !table_->rows.empty()) Close();
  if (start) facts_.program = line.text.substr(line.text.find(':') + 1);
  if (start) facts_.program.erase(0, facts_.program.find_first_not_of(' '));
  if ((nccl || hockney) && words.size() > 2) facts_.version = words[2].text;
  if (rccl && words.size() > 2) facts_.version = words[2].text;
  facts_.is_rccl |= rccl;
  facts_.is_hockney |= hockney;
  const std::string_view code = BehindKey(line.text, "nccl-library");
  if (nccl && IsWhole(code)) {
    facts_.library = NcclVersionText(std::strtoull(std::string(code).c_str(), nullptr, 10));
  }
  for (std::size_t i = 1; parameters && i + 1 < words.size(); ++i) {
    const std::string_view before = words[i - 1].text;
    if (words[i].text == "iters:" && before != "warmup" && before != "agg") {
      facts_.iterations = log_.Whole(line, words[i + 1]);
    }
    if (words[i].text == "graph:" && words[i + 1].text != "0") facts_.graph = 1;
  }
  if (facts_.iterations == 0U) facts_.iterations.reset();
  if (facts_.graph && facts_.iterations) {
    facts_.graph = static_cast<std::int64_t>(*facts_.iterations);
  }
  return true;
}

bool Reader::TakeDevice(const LogLine& line, const Words& words) {
  if (words.size() < 8 || words[0].text != "Rank" || !IsWhole(words[1].text)) return false;
  const bool grouped = words[2].text == "Group";
  const std::size_t pid = grouped ? 4 : 2;
  if (words.size() < pid + 5 || words[pid].text != "Pid" || words[pid + 2].text != "on") {
    return false;
  }
  if (table_ && !table_->rows.empty()) Close();
  NcclTestsDevice device{.host = std::string(words[pid + 3].text)};
  device.rank = static_cast<std::int64_t>(log_.Whole(line, words[1]).value_or(0));
  if (grouped) device.group = static_cast<std::int64_t>(log_.Whole(line, words[3]).value_or(0));
  if (line.text.find("AMD Instinct") != line.text.npos) facts_.is_rccl = true;
  facts_.devices.push_back(std::move(device));
  return true;
}

// A command line names the program, though not for certain the table's.
void Reader::TakeProgram(const LogLine& line) {
  if (table_ && !table_->rows.empty() && ended_ && line.text.find("concluded") == line.text.npos) {
    Close();
  }
  for (const LogWord& word : WordsOf(line, "#\"'`,;()")) {
    if (word.text.find("_perf") == word.text.npos) continue;
    const auto collective = CollectiveOfTest(word.text);
    if (collective) facts_.hints = {*collective};
  }
}

bool Reader::LooksLikeRow(const Words& words) const {
  if (!table_ && !IsNcclTestsRow(words)) return false;
  if (words.size() >= 2 && IsWhole(words[0].text) && IsWhole(words[1].text)) return true;
  const bool numbers = std::all_of(words.begin(), words.end(), [](const LogWord& word) {
    return IsNumber(word.text) || IsMissing(word.text);
  });
  if (numbers && words.size() >= 3) return true;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (IsWhole(words[i - 2].text) && IsWhole(words[i - 1].text) && ParseDataType(words[i].text)) {
      return true;
    }
  }
  return false;
}

// The columns of the words of a row; none if there are more or fewer.
std::vector<std::string> Reader::ColumnsFor(const Words& words) const {
  std::vector<std::string> columns = columns_;
  const auto stamp = std::find(columns.begin(), columns.end(), "timestamp");
  if (stamp != columns.end()) columns.insert(stamp, "date");  // a date and a time of day
  const auto redop = std::find(columns.begin(), columns.end(), "redop");
  const auto at = static_cast<std::size_t>(redop - columns.begin());
  const bool blank =
      words.size() + 1 == columns.size() && at < words.size() && IsNumber(words[at].text);
  if (blank && redop != columns.end()) columns.erase(redop);
  return words.size() == columns.size() ? columns : std::vector<std::string>();
}

void Reader::TakeRow(const LogLine& line, const Words& words) {
  if (!table_) {
    StartTable(line, GuessColumns(words));
    table_->notes.push_back(log_.At(line, "no header before the rows: their usual columns taken"));
  }
  const std::vector<std::string> columns = ColumnsFor(words);
  if (!columns.empty() && IsWhole(words[0].text)) {
    if (ended_ && !table_->rows.empty()) {  // of another run, without a header of its own
      const std::vector<std::string> same = columns_;
      Close();
      StartTable(line, same);
    }
    return ReadColumns(line, words, columns);
  }
  table_->notes.push_back(
      log_.At(line, fmt::format("left out, {} words where a row has {}: \"{}\"", words.size(),
                                columns_.size(), Shown(line.text))));
}

void Reader::ReadColumns(const LogLine& line, const Words& words,
                         const std::vector<std::string>& columns) {
  ImportedRow base{.line = line.number};
  NcclTestsSide sides[2];
  int side = -1;
  bool has_redop = false;
  const auto printed = [&](const LogWord& word) -> std::optional<PrintedNumber> {
    const auto value = log_.Number(line, word);
    if (!value) return std::nullopt;
    double half_unit = 0.5;
    for (std::size_t i = Decimals(word.text); i > 0; --i) half_unit /= 10;
    return PrintedNumber{*value, half_unit};
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const LogWord& word = words[i];
    const std::string& name = columns[i];
    side += name == "time" ? 1 : 0;
    if (name == "size") base.row.size_bytes = log_.Whole(line, word).value_or(0);
    if (name == "count") base.row.count = log_.Whole(line, word);
    if (name == "type") {
      base.row.dtype = ParseDataType(word.text);
      if (!base.row.dtype) log_.Fail(line, word, "a type such as float, half or bfloat16");
    }
    if (name == "redop") {
      has_redop = true;
      base.row.op = ParseReduceOp(word.text);
      (word.text == "none" ? shape_.any_none : shape_.any_op) = true;
    }
    if (name == "root" && word.text != "-1") {
      const auto root = log_.Whole(line, word);
      if (root) base.row.root = static_cast<std::int64_t>(*root);
      shape_.any_root |= root.has_value();
    }
    if (side < 0 || side > 1) continue;
    if (name == "time") sides[side].time_us = log_.Number(line, word);
    if (name == "algbw") sides[side].algbw = printed(word);
    if (name == "busbw") sides[side].busbw = printed(word);
    if (name == "wrong" || name == "error") {
      LogWord value = word;
      sides[side].marked_wrong = value.text.ends_with('*');
      while (value.text.ends_with('*')) value.text.remove_suffix(1);
      sides[side].wrong = log_.Number(line, value);
    }
  }
  shape_.any_blank_op |= shape_.has_redop && !has_redop;
  AddNcclTestsRow(*table_, base, sides[0], sides[1], shape_);
}

}  // namespace

bool IsNcclTestsHeader(std::span<const LogWord> words) {
  const bool has_time = std::any_of(words.begin(), words.end(),
                                    [](const LogWord& word) { return word.text == "time"; });
  return words.size() >= 5 && words[0].text == "size" && words[1].text == "count" && has_time;
}

bool IsNcclTestsRow(std::span<const LogWord> words) {
  return words.size() >= 11 && words.size() <= 13 && IsWhole(words[0].text) &&
         IsWhole(words[1].text) && ParseDataType(words[2].text).has_value() &&
         (IsNumber(words.back().text) || IsMissing(words.back().text));
}

std::vector<ImportedTable> ReadNcclTestsText(const LogText& log, std::span<const LogLine> lines) {
  return Reader(log).Read(lines);
}

}  // namespace hockney
