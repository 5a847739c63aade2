#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/records/kernel_row.h"
#include "tuner/records/line_file.h"
#include "tuner/records/link_row.h"
#include "tuner/records/loss_row.h"
#include "tuner/records/step_row.h"
#include "tuner/records/sweep_row.h"

namespace hockney {

// Lines `# key=value` at the head of each CSV file.
using CsvHeader = std::vector<std::pair<std::string, std::string>>;

// Returns `<base>/<UTC yyyymmddThhmmssZ>_<command>`, with -2, -3, ... behind it while such a path
// exists.
std::filesystem::path DefaultRunPath(std::string_view command,
                                     std::chrono::system_clock::time_point now,
                                     const std::filesystem::path& base = "hockney-runs");

// Returns the run folder below `base` whose name is the latest, or nothing if there is none.
std::optional<std::filesystem::path> NewestRun(const std::filesystem::path& base = "hockney-runs");

// Returns the run.json of the run folder `path`, null if it has none. Throws InputError, naming
// file, line and column, if it is not a JSON object.
nlohmann::ordered_json ReadRun(const std::filesystem::path& path);

// How a run ended that could not end by itself.
struct RunEnding {
  std::string outcome = {};  // timeout, lost_rank, interrupted
  int exit_code = 0;
  std::optional<int> lost_rank = {};
  std::string waiting_for = {};
};

// Writes into the run.json of the folder `path` how the run ended, and leaves the rest. For any
// rank, when the writing one may be gone. Throws EnvironmentError or InputError if it cannot.
void MarkEnding(const std::filesystem::path& path, const RunEnding& ending);

// The folder of one run, for its one writing rank. Every file in it is valid after every call. All
// members throw EnvironmentError naming the path and the cause when the operating system refuses
// (full disk, no permission).
class RunFolder {
 public:
  // Makes the folder and the folders above it; an empty folder will do. Throws
  // std::invalid_argument naming the path if it exists already.
  static RunFolder Create(const std::filesystem::path& path, CsvHeader header = {});

  // Opens the folder to add launches or missing rows, or makes it. Row numbers run on. Throws
  // std::invalid_argument if the path is not a folder, and InputError if its CSV files have other
  // columns or rows that cannot be read.
  static RunFolder Append(const std::filesystem::path& path, CsvHeader header = {});

  const std::filesystem::path& path() const { return path_; }
  // Rows of sweep.csv so far.
  std::int64_t sweep_rows() const { return sweep_rows_; }

  // Replaces run.json; numbers that are not finite become null and bytes that are not UTF-8 the
  // replacement character.
  void WriteRun(const nlohmann::ordered_json& run);
  // Replaces the file `name` (model.json, tuning.json, report.html, ...) by `text`.
  void WriteText(const std::string& name, std::string_view text);

  // Appends a row to sweep.csv and then its samples to samples.csv (whose `row` and `launch` are
  // filled in here), and returns the 0-based number of the row. Where the samples cannot be written
  // the row is taken back. Throws std::invalid_argument, before anything is written, if a text
  // holds a line break.
  std::int64_t AppendSweep(const SweepRow& row, std::span<const SampleRow> samples);

  // Append rows to links.csv, kernels.csv, step.csv and loss.csv. Throw as AppendSweep does.
  void AppendLinks(std::span<const LinkRow> rows);
  void AppendKernels(std::span<const KernelRow> rows);
  void AppendSteps(std::span<const StepRow> rows);
  void AppendLosses(std::span<const LossRow> rows);

 private:
  RunFolder(std::filesystem::path path, CsvHeader header);
  std::string Head() const;
  void AppendTo(std::optional<LineFile>* file, const char* name, const std::string& names_line,
                const std::string& lines);

  std::filesystem::path path_;
  CsvHeader header_;
  std::optional<LineFile> sweep_;  // opened by the first row
  std::optional<LineFile> samples_;
  std::optional<LineFile> links_;
  std::optional<LineFile> kernels_;
  std::optional<LineFile> steps_;
  std::optional<LineFile> losses_;
  std::int64_t sweep_rows_ = 0;
};

}  // namespace hockney
