#include "bench/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bench/cells.h"
#include "bench/earlier_launches.h"
#include "bench/exit_codes.h"
#include "bench/last_words.h"
#include "bench/rig.h"
#include "bench/sweep_report.h"
#include "bench/tuned_choices.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

class Sweep {
 public:
  Sweep(Session& session, const SweepOptions& options, const Launch& launch, Reporter& reporter)
      : session_(session),
        options_(options),
        launch_(launch),
        reporter_(reporter),
        rig_(session, options, launch),
        cells_(MakeCells(options, rig_.groups().largest(), rig_.groups().smallest())) {}
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep() { launch_.watchdog().EndActivity("the end"); }  // its labels end with it
  int Run();

 private:
  int Measure();
  bool RunCells();
  bool RunCell(Cell cell, std::size_t number);
  void OpenFolder();
  void WriteRun(const std::string& outcome, std::optional<ExitCode> code);
  void Emit(const Cell& cell, const Competitor& competitor);
  void SayFailure() const;
  ExitCode Close(bool finished);
  void NoteFailure() noexcept;
  bool is_writer() const { return session_.rank() == 0; }

  Session& session_;
  const SweepOptions& options_;
  const Launch& launch_;
  Reporter& reporter_;
  Rig rig_;
  std::vector<Cell> cells_;
  nlohmann::ordered_json earlier_launches_ = nlohmann::ordered_json::array();
  std::optional<RunFolder> folder_;
  std::vector<SweepRow> rows_;
  std::string cell_label_;
  std::int64_t launch_number_ = 0;  // in the run folder
};

void Sweep::OpenFolder() {
  RunOnAllOrThrow(session_, [&] {
    if (!is_writer()) return;
    const auto path = options_.out.empty()
                          ? DefaultRunPath("sweep", std::chrono::system_clock::now())
                          : std::filesystem::path(options_.out);
    const CsvHeader header = {{"hockney", "sweep"}};
    try {
      if (options_.append && std::filesystem::exists(path / "sweep.csv")) {
        for (const SweepRow& row : ReadSweep(path)) {
          launch_number_ = std::max(launch_number_, row.launch + 1);
        }
      }
      if (options_.append) earlier_launches_ = EarlierLaunches(path, "sweep", rig_.facts());
      folder_ = options_.append ? RunFolder::Append(path, header) : RunFolder::Create(path, header);
    } catch (const InputError& error) {
      throw std::invalid_argument(error.what());  // a damaged folder is the user's input
    }
    WriteRun("running", std::nullopt);
  });
  LeaveLastWords(session_, launch_.watchdog(), folder_ ? folder_->path() : "");
}

void Sweep::WriteRun(const std::string& outcome, std::optional<ExitCode> code) {
  if (!folder_) return;
  nlohmann::ordered_json run = rig_.facts();
  SetOutcome(run, "sweep", outcome, code);
  run["seed"] = options_.seed;
  run["row_budget_seconds"] = options_.row_budget_seconds;
  run["launches"] = earlier_launches_;
  run["launches"].push_back({{"launch", launch_number_},
                             {"start_utc", run["start_utc"]},
                             {"seed", options_.seed},
                             {"outcome", outcome}});
  folder_->WriteRun(run);
}

void Sweep::Emit(const Cell& cell, const Competitor& competitor) {
  rows_.push_back(competitor.row);
  rows_.back().launch = launch_number_;
  if (folder_) folder_->AppendSweep(rows_.back(), competitor.samples);
  reporter_.Add(cell, competitor);
}

bool Sweep::RunCell(Cell cell, std::size_t number) {
  cell.ranks = rig_.groups().session().ranks();  // of the largest group before
  const bool has_form =
      Layout(EvenCounts(cell.shape(), cell.count), cell.type, Cut{}).FindInPlace(0).supported;
  bool go_on = true;
  if (cell.in_place && !has_form) {
    Competitor none;
    none.row = SkippedRow(cell, "the collective has no in-place form");
    if (is_writer()) Emit(cell, none);
  } else {
    // Nothing points to the text of the cell before any more.
    cell_label_ = fmt::format("{} of {} bytes, before it is timed", Name(cell.collective),
                              SizeBytes(cell.collective, cell.count, cell.type, cell.ranks));
    launch_.watchdog().SetActivity(cell_label_.c_str());
    CellRunner runner(rig_.context(), cell, number, [&](const Competitor& c) { Emit(cell, c); });
    go_on = runner.Run();
  }
  if (is_writer()) {
    reporter_.EndCell(cell);
    if (std::ferror(stdout) != 0) {  // a reader that has gone, a full disk
      throw EnvironmentError(fmt::format("standard output: {}", strerrordesc_np(errno)));
    }
  }
  return go_on;
}

// Returns whether all were run.
bool Sweep::RunCells() {
  ProgressLine progress(options_.progress, cells_.size() * std::max(options_.cycles, 1),
                        is_writer());
  std::size_t done = 0;
  bool go_on = true;
  for (int cycle = 0; go_on && (options_.cycles == 0 || cycle < options_.cycles); ++cycle) {
    for (std::size_t i = 0; i < cells_.size() && go_on; ++i) {
      progress.Show(done++, cells_[i]);
      go_on = RunCell(cells_[i], i);
    }
  }
  progress.Clear();
  return go_on;
}

int Sweep::Measure() {
  if (is_writer()) reporter_.Start(rig_.facts());
  // A run without end is over when it is stopped.
  const bool finished = RunCells() || options_.cycles == 0;
  rig_.NoteTransports();
  return is_writer() ? ToInt(Close(finished)) : ToInt(ExitCode::kOk);
}

// Says which row makes the run fail; the table above may be long.
void Sweep::SayFailure() const {
  const auto is_bad = [](const SweepRow& row) {
    return row.status == Status::kWrongData || row.status == Status::kFailed;
  };
  const auto bad = std::find_if(rows_.begin(), rows_.end(), is_bad);
  if (bad == rows_.end()) return;
  fmt::print(stderr, "{}: rows that failed: {}, the first {} {} of {} bytes: {}: {}\n",
             options_.program, std::count_if(rows_.begin(), rows_.end(), is_bad),
             Name(bad->collective), DescribeChoice(*bad), bad->size_bytes, Name(bad->status),
             bad->reason);
}

ExitCode Sweep::Close(bool finished) {
  SayFailure();
  ExitCode code = WorstOutcome(rows_);
  if (code == ExitCode::kOk && !finished) code = ExitCode::kInterrupted;
  if (code == ExitCode::kOk && !AnyMeasured(rows_)) {
    code = ExitCode::kEnvironment;
    fmt::print(stderr, "{}: nothing could be measured: {}\n", options_.program,
               rows_.empty() ? "no row fits what was asked for" : rows_.back().reason);
  }
  if (!finished) {
    fmt::print(stderr, "{}: interrupted; what was finished is kept\n", options_.program);
  }
  const ExitCode found = reporter_.Finish(rows_, finished);
  if (code == ExitCode::kOk) code = found;
  WriteRun(finished ? "finished" : "interrupted", code);
  if (folder_) fmt::print("\nrun folder: {}\n", folder_->path().string());
  return code;
}

// The disk may be too full even for this; the failure itself is what counts.
void Sweep::NoteFailure() noexcept {
  try {
    if (folder_) WriteRun("failed", ExitCode::kEnvironment);
  } catch (const std::exception&) {
    return;
  }
}

int Sweep::Run() {
  if (options_.dry_run) {
    if (is_writer()) {
      PrintPlan(cells_, rig_.ArenaBytes(cells_), session_.ranks());
      PrintMpiPlan(options_);
    }
    return ToInt(ExitCode::kOk);
  }
  launch_.watchdog().SetActivity("the set-up");
  rig_.SetUp(cells_);
  if (options_.tuned != nullptr) CheckTuned(options_, session_.ranks(), rig_.context().hosts);
  if (options_.keeps_folder) OpenFolder();
  int code = 0;
  try {
    code = Measure();
  } catch (const TimeoutError&) {
    throw;                           // the last words say it
  } catch (const std::exception&) {  // a full disk, a closed pipe
    NoteFailure();
    throw;
  }
  session_.Barrier();  // nobody leaves before the folder is complete
  launch_.watchdog().SetLastWords({});
  return code;
}

}  // namespace

int RunSweep(Session& session, const SweepOptions& options, const Launch& launch,
             Reporter& reporter) {
  return Sweep(session, options, launch, reporter).Run();
}

}  // namespace hockney
