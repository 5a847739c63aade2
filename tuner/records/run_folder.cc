#include "tuner/records/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "topology/check.h"
#include "topology/json_reader.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;

// Throws unless the file, if it exists, has exactly the columns that rows are written with.
template <Record Row>
void RequireSameColumns(const fs::path& file) {
  if (!fs::exists(file)) return;
  const CsvReader reader(file.string(), UnfinishedLine::kDrop);
  std::string names;
  for (const std::string& name : reader.names()) names.append(CsvText(name)).append(",");
  if (!names.empty()) names.back() = '\n';
  if (names != NamesLine<Row>()) {
    reader.Fail(1, "expected the columns of this version; give another folder to write to");
  }
}

// Cuts off a last line without end, which a killed run left, and returns whether any line remains.
bool HoldsLines(const fs::path& file) { return fs::exists(file) && !LineFile(file).empty(); }

bool MakeFolder(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  const bool made = !error && fs::create_directory(path, error);
  if (error) throw EnvironmentError(path.string() + ": cannot be made: " + error.message());
  return made;
}

}  // namespace

fs::path DefaultRunPath(std::string_view command, std::chrono::system_clock::time_point now,
                        const fs::path& base) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const std::string name = fmt::format("{:%Y%m%dT%H%M%SZ}_{}", fmt::gmtime(seconds), command);
  fs::path path = base / name;
  for (int next = 2; fs::exists(path); ++next) path = base / fmt::format("{}-{}", name, next);
  return path;
}

std::optional<fs::path> NewestRun(const fs::path& base) {
  std::optional<fs::path> newest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(base, error)) {
    if (entry.is_directory() && (!newest || *newest < entry.path())) newest = entry.path();
  }
  return newest;
}

nlohmann::ordered_json ReadRun(const fs::path& path) {
  const std::string file = (path / "run.json").string();
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return nullptr;
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  RequireShallowJson(text, file);
  std::size_t at = 0;  // of the first byte that is wrong
  try {
    auto run = nlohmann::ordered_json::parse(text);
    if (run.is_object()) return run;
  } catch (const nlohmann::json::parse_error& error) {
    at = error.byte > 0 ? error.byte - 1 : 0;
  }
  const std::string before = text.substr(0, at);
  throw InputError(fmt::format("{}:{}:{}: expected JSON as hockney sweep writes it", file,
                               std::count(before.begin(), before.end(), '\n') + 1,
                               before.size() - (before.rfind('\n') + 1) + 1));
}

void MarkEnding(const fs::path& path, const RunEnding& ending) {
  const std::string file = (path / "run.json").string();
  auto run = ReadRun(path);
  if (run.is_null()) throw InputError(file + ":1:1: expected a run's JSON, found no file");
  // Two parts of a network that has come apart may both write: the first one stays.
  if (run.value("outcome", "") != "running") return;
  run["outcome"] = ending.outcome;
  run["exit_code"] = ending.exit_code;
  run["lost_rank"] = ending.lost_rank ? nlohmann::ordered_json(*ending.lost_rank) : nullptr;
  run["waiting_for"] =
      ending.waiting_for.empty() ? nullptr : nlohmann::ordered_json(ending.waiting_for);
  if (auto& launches = run["launches"]; launches.is_array() && !launches.empty()) {
    launches.back()["outcome"] = ending.outcome;
  }
  ReplaceFile(file, run.dump(2) + "\n");
}

RunFolder::RunFolder(fs::path path, CsvHeader header)
    : path_(std::move(path)), header_(std::move(header)) {
  static_cast<void>(Head());  // refuse a bad header before anything is made
}

RunFolder RunFolder::Create(const fs::path& path, CsvHeader header) {
  RunFolder folder(path, std::move(header));
  const bool is_empty_folder = fs::is_directory(path) && fs::is_empty(path);
  if (!is_empty_folder && (fs::exists(path) || !MakeFolder(path))) {
    throw std::invalid_argument(path.string() +
                                ": exists; expected a folder that is new or empty, or --append "
                                "to a run of the same command");
  }
  return folder;
}

RunFolder RunFolder::Append(const fs::path& path, CsvHeader header) {
  RunFolder folder(path, std::move(header));
  if (!fs::exists(path)) {
    MakeFolder(path);
    return folder;
  }
  if (!fs::is_directory(path)) throw std::invalid_argument(path.string() + ": is not a folder");
  const fs::path sweep = path / "sweep.csv";
  const fs::path samples = path / "samples.csv";
  if (HoldsLines(sweep)) {
    RequireSameColumns<SweepRow>(sweep);
    folder.sweep_rows_ = static_cast<std::int64_t>(ReadSweep(sweep.string()).size());
  }
  if (HoldsLines(samples)) RequireSameColumns<SampleRow>(samples);
  if (const fs::path steps = path / "step.csv"; HoldsLines(steps))
    RequireSameColumns<StepRow>(steps);
  return folder;
}

void RunFolder::WriteRun(const nlohmann::ordered_json& run) {
  using Json = nlohmann::ordered_json;
  WriteText("run.json", run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RunFolder::WriteText(const std::string& name, std::string_view text) {
  ReplaceFile((path_ / name).string(), text);
}

std::int64_t RunFolder::AppendSweep(const SweepRow& row, std::span<const SampleRow> samples) {
  const std::string line = RowLine(row);
  std::string sample_lines;
  for (SampleRow sample : samples) {
    sample.row = sweep_rows_;
    sample.launch = row.launch;
    sample_lines += RowLine(sample);
  }
  // The row first: killed in between, its number is taken and its samples are missing, never
  // another row's.
  AppendTo(&sweep_, "sweep.csv", NamesLine<SweepRow>(), line);
  try {
    if (!sample_lines.empty()) {
      AppendTo(&samples_, "samples.csv", NamesLine<SampleRow>(), sample_lines);
    }
  } catch (...) {  // a full disk
    sweep_->TakeBack(line.size());
    throw;
  }
  return sweep_rows_++;
}

namespace {

template <Record Row>
std::string LinesOf(std::span<const Row> rows) {
  std::string lines;
  for (const Row& row : rows) lines += RowLine(row);
  return lines;
}

}  // namespace

void RunFolder::AppendLinks(std::span<const LinkRow> rows) {
  AppendTo(&links_, "links.csv", NamesLine<LinkRow>(), LinesOf(rows));
}

void RunFolder::AppendKernels(std::span<const KernelRow> rows) {
  AppendTo(&kernels_, "kernels.csv", NamesLine<KernelRow>(), LinesOf(rows));
}

void RunFolder::AppendSteps(std::span<const StepRow> rows) {
  AppendTo(&steps_, "step.csv", NamesLine<StepRow>(), LinesOf(rows));
}

void RunFolder::AppendLosses(std::span<const LossRow> rows) {
  AppendTo(&losses_, "loss.csv", NamesLine<LossRow>(), LinesOf(rows));
}

std::string RunFolder::Head() const {
  std::string head;
  for (const auto& [key, value] : header_) {
    const std::string line = fmt::format("{}={}", key, value);
    static_cast<void>(CsvText(line));  // throws for a line break
    head.append("# ").append(line).append("\n");
  }
  return head;
}

void RunFolder::AppendTo(std::optional<LineFile>* file, const char* name,
                         const std::string& names_line, const std::string& lines) {
  if (lines.empty()) return;
  if (!*file) file->emplace((path_ / name).string());
  try {
    (*file)->Append((*file)->empty() ? Head() + names_line + lines : lines);
  } catch (...) {
    if ((*file)->empty()) {  // without names it would be no table
      file->reset();
      std::error_code ignored;
      fs::remove(path_ / name, ignored);
    }
    throw;
  }
}

}  // namespace hockney
