#include "bench/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/cell.h"
#include "bench/earlier_launches.h"
#include "bench/exit_codes.h"
#include "bench/facts.h"
#include "bench/options.h"
#include "bench/signals.h"
#include "bench/sweep_report.h"
#include "collectives/baselines/mpi/mpi_baseline.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

// The double tree takes four lanes of the program for each data lane, more than any other
// algorithm.
constexpr int kLanesPerDataLane = 4;

// Slots of all connections of a rank together; many ranks get smaller slots rather than more
// memory.
constexpr std::size_t kSlotRoomBytes = std::size_t{32} << 20;

// Throws UsageError, in the user's words, where a size exceeds what 64 bits can address.
void CheckFits(const Cell& cell) {
  try {
    const Layout layout(EvenCounts(cell.shape(), cell.count), cell.type, Cut{});
    static_cast<void>(SizeBytes(cell.collective, cell.count, cell.type, cell.ranks));
  } catch (const std::exception&) {
    throw Agreed<UsageError>(fmt::format(
        "--maxbytes (-e) or --count: {} elements a rank: expected buffers below 2^63 bytes",
        cell.count));
  }
}

void AddSizes(const SweepOptions& options, Cell cell, std::vector<Cell>& cells) {
  if (options.count) {
    cell.count = *options.count;
    CheckFits(cell);
    cells.push_back(cell);
    return;
  }
  std::optional<std::uint64_t> before;
  for (const std::uint64_t size : options.sizes) {
    cell.count = CountForSize(cell.collective, size, cell.type, cell.ranks);
    if (cell.count == 0 && size > 0) cell.count = 1;
    if (before == cell.count) continue;
    CheckFits(cell);
    before = cell.count;
    cells.push_back(cell);
  }
}

std::vector<int> RootsFor(const SweepOptions& options, Collective collective, int ranks) {
  if (!HasRoot(collective)) return {0};
  std::vector<int> roots;
  for (const int root : options.roots) {
    if (root >= 0) {
      roots.push_back(root);
    } else {
      for (int r = 0; r < ranks; ++r) roots.push_back(r);
    }
  }
  return roots;
}

// Everything of a sweep that lives as long as the ranks do.
class Sweep {
 public:
  Sweep(Session& session, const SweepOptions& options, const Launch& launch);
  int Run();

 private:
  std::unique_ptr<Prepared> PrepareBarrier();
  void SetUp();
  int Measure();
  HostDomain::Options DomainOptions() const;
  bool RunCell(const Cell& cell);
  void OpenFolder();
  void LeaveLastWords();
  void WriteRun(const std::string& outcome, std::optional<ExitCode> code);
  void Emit(const SweepRow& row, const std::vector<SampleRow>& samples);
  bool is_writer() const { return session_.rank() == 0; }

  Session& session_;
  const SweepOptions& options_;
  const Launch& launch_;
  RankPlace place_;
  LastLevelCache llc_;
  nlohmann::ordered_json facts_;
  nlohmann::ordered_json earlier_launches_ = nlohmann::ordered_json::array();
  std::vector<Cell> cells_;
  std::unique_ptr<HostDomain> domain_;
  std::unique_ptr<HostExecutor> executor_;
  std::unique_ptr<Prepared> barrier_;
  std::unique_ptr<TickStart> tick_;
  std::unique_ptr<LineProbe> line_probe_;
  std::unique_ptr<MpiBaseline> mpi_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<CacheFlusher> flusher_;
  VerifyCache verified_;
  SweepContext context_;
  std::optional<RunFolder> folder_;
  std::vector<SweepRow> rows_;
  std::size_t rows_printed_ = 0;
  std::int64_t launch_number_ = 0;  // in the run folder
};

Sweep::Sweep(Session& session, const SweepOptions& options, const Launch& launch)
    : session_(session), options_(options), launch_(launch) {
  Session local = session.SplitSharedMemory();
  if (local.ranks() != session.ranks()) {
    throw Agreed<EnvironmentError>(
        "sweep: the ranks are on several hosts; this version measures one host");
  }
  place_ = PlaceRank(session, local);
  llc_ = FindLastLevelCache(*place_.machine, options.llc_bytes);
  cells_ = MakeCells(options, session.ranks());
}

HostDomain::Options Sweep::DomainOptions() const {
  HostDomain::Options options;
  options.lanes =
      kLanesPerDataLane * *std::max_element(options_.lanes.begin(), options_.lanes.end());
  const std::size_t connections = static_cast<std::size_t>(options.lanes) * session_.ranks() *
                                  static_cast<std::size_t>(options.limits.slots);
  options.limits.slot_bytes = std::clamp<std::size_t>(kSlotRoomBytes / connections / 1024 * 1024,
                                                      4096, options.limits.slot_bytes);
  for (const Cell& cell : cells_) {
    options.arena_bytes = std::max(options.arena_bytes, CellArenaBytes(options_, cell, llc_.bytes));
  }
  return options;
}

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
      if (options_.append) earlier_launches_ = EarlierLaunches(path, facts_);
      folder_ = options_.append ? RunFolder::Append(path, header) : RunFolder::Create(path, header);
    } catch (const InputError& error) {
      throw std::invalid_argument(error.what());  // a damaged folder is the user's input
    }
    WriteRun("running", std::nullopt);
  });
  LeaveLastWords();
}

// Whichever rank is left to say how the run ended writes it into the folder.
void Sweep::LeaveLastWords() {
  const std::string path = is_writer() ? std::filesystem::absolute(folder_->path()).string() : "";
  const auto all = session_.AllGather(std::as_bytes(std::span(path)));
  const std::filesystem::path folder(
      std::string(reinterpret_cast<const char*>(all[0].data()), all[0].size()));
  launch_.watchdog().SetLastWords([folder](const Ending& ending) {
    if (ending.cause.empty()) return;
    const char* outcome = ending.exit_code == ToInt(ExitCode::kInterrupted) ? "interrupted"
                          : ending.waiting_for.empty()                      ? "lost_rank"
                                                                            : "timeout";
    MarkEnding(folder, {.outcome = outcome,
                        .exit_code = ending.exit_code,
                        .lost_rank = ending.lost_rank,
                        .waiting_for = ending.waiting_for});
  });
}

void Sweep::WriteRun(const std::string& outcome, std::optional<ExitCode> code) {
  nlohmann::ordered_json run = facts_;
  run["command"] = "sweep";
  run["seed"] = options_.seed;
  run["row_budget_seconds"] = options_.row_budget_seconds;
  run["last_level_cache"] = {{"bytes", llc_.bytes}, {"source", llc_.source}};
  run["oversubscribed"] = place_.oversubscribed;
  run["page_kib"] = domain_->page_kib();
  run["mpi_module"] = mpi_ ? nlohmann::ordered_json(mpi_->Module()) : nullptr;
  const std::string single_copy = mpi_ ? mpi_->SingleCopy() : "";
  run["mpi_single_copy"] = single_copy.empty() ? nullptr : nlohmann::ordered_json(single_copy);
  run["outcome"] = outcome;
  run["exit_code"] = code ? nlohmann::ordered_json(ToInt(*code)) : nullptr;
  run["lost_rank"] = nullptr;
  run["waiting_for"] = nullptr;
  run["launches"] = earlier_launches_;
  run["launches"].push_back({{"launch", launch_number_},
                             {"start_utc", facts_["start_utc"]},
                             {"seed", options_.seed},
                             {"outcome", outcome}});
  folder_->WriteRun(run);
}

void Sweep::Emit(const SweepRow& row, const std::vector<SampleRow>& samples) {
  rows_.push_back(row);
  rows_.back().launch = launch_number_;
  folder_->AppendSweep(rows_.back(), samples);
}

bool Sweep::RunCell(const Cell& cell) {
  const bool has_form =
      Layout(EvenCounts(cell.shape(), cell.count), cell.type, Cut{}).FindInPlace(0).supported;
  bool go_on = true;
  if (cell.in_place && !has_form) {
    if (is_writer()) Emit(SkippedRow(cell, "the collective has no in-place form"), {});
  } else {
    CellRunner runner(context_, cell, [this](const Competitor& c) { Emit(c.row, c.samples); });
    go_on = runner.Run();
  }
  if (is_writer()) {
    PrintRows(std::span(rows_).subspan(rows_printed_), rows_printed_ == 0);
    rows_printed_ = rows_.size();
  }
  return go_on;
}

// Our own barrier, used to start every sample of every competitor.
std::unique_ptr<Prepared> Sweep::PrepareBarrier() {
  const Shape shape{Collective::kBarrier, session_.ranks(), 0};
  Call call;
  call.shape = shape;
  call.counts = EvenCounts(shape, 0);
  const Algorithm& row = *FindAlgorithm(Collective::kBarrier, "direct");
  const FlowLimits& limits = domain_->options().limits;
  return executor_->Prepare(call, row, ChooseFlow(row, call.counts, call.type, {}, limits),
                            StorePolicy::kCached);
}

void Sweep::SetUp() {
  domain_ = std::make_unique<HostDomain>(session_, DomainOptions());
  executor_ = std::make_unique<HostExecutor>(
      session_, *domain_,
      HostExecutor::Options{.oversubscribed = place_.oversubscribed,
                            .timeout_seconds = options_.timeout_seconds});
  const auto& wanted = options_.implementations;
  if (session_.mpi_communicator() != nullptr &&
      std::find(wanted.begin(), wanted.end(), "mpi") != wanted.end()) {
    mpi_ = std::make_unique<MpiBaseline>(session_);
  }
  barrier_ = PrepareBarrier();
  tick_ = std::make_unique<TickStart>(*domain_, options_.timeout_seconds);
  if (!place_.oversubscribed && session_.ranks() > 1) {
    line_probe_ = std::make_unique<LineProbe>(*domain_, options_.timeout_seconds);
  }
  timer_ = std::make_unique<Timer>(session_, *barrier_, *tick_, launch_.watchdog(),
                                   [] { return InterruptGuard::Signal() != 0; });
  if (options_.buffers == BufferState::kCold) {
    flusher_ = std::make_unique<CacheFlusher>(2 * llc_.bytes);
  }
  context_ = {.session = &session_,
              .domain = domain_.get(),
              .executor = executor_.get(),
              .mpi = mpi_.get(),
              .timer = timer_.get(),
              .barrier = barrier_.get(),
              .line_probe = line_probe_.get(),
              .flusher = flusher_.get(),
              .verified = &verified_,
              .options = &options_,
              .llc = llc_,
              .oversubscribed = place_.oversubscribed,
              .watchdog = &launch_.watchdog()};
  facts_ = CollectFacts(session_, place_,
                        {.command_line = launch_.arguments(),
                         .rank_source = launch_.rank_source(),
                         .mpi_library = mpi_ ? mpi_->Library() : ""});
}

int Sweep::Measure() {
  bool finished = true;
  Progress progress(options_.progress, cells_.size(), is_writer());
  for (std::size_t i = 0; i < cells_.size() && finished; ++i) {
    progress.Show(i, cells_[i]);
    finished = RunCell(cells_[i]);
  }
  progress.Clear();
  if (!is_writer()) return ToInt(ExitCode::kOk);
  ExitCode code = WorstOutcome(rows_);
  if (!finished) code = ExitCode::kInterrupted;
  if (code == ExitCode::kOk && !AnyMeasured(rows_)) {
    code = ExitCode::kEnvironment;
    fmt::print(stderr, "hockney sweep: nothing could be measured: {}\n",
               rows_.empty() ? "no row fits what was asked for" : rows_.back().reason);
  }
  WriteRun(finished ? "finished" : "interrupted", code);
  PrintFastest(rows_);
  PrintLegend(rows_);
  fmt::print("\nrun folder: {}\n", folder_->path().string());
  return ToInt(code);
}

int Sweep::Run() {
  if (options_.dry_run) {
    if (is_writer()) PrintPlan(cells_, DomainOptions().arena_bytes, session_.ranks());
    return ToInt(ExitCode::kOk);
  }
  SetUp();
  OpenFolder();
  const int code = Measure();
  session_.Barrier();  // nobody leaves before the folder is complete
  launch_.watchdog().SetLastWords({});
  return code;
}

}  // namespace

std::vector<Cell> MakeCells(const SweepOptions& options, int ranks) {
  std::vector<Cell> cells;
  for (const Collective collective : options.collectives) {
    Cell cell;
    cell.collective = collective;
    cell.ranks = ranks;
    if (collective == Collective::kBarrier) {
      cells.push_back(cell);
      continue;
    }
    const std::vector<ReduceOp> none = {ReduceOp::kSum};
    for (const Placement placement : options.placements) {
      for (const DataType type : options.types) {
        for (const ReduceOp op : Reduces(collective) ? options.ops : none) {
          for (const int root : RootsFor(options, collective, ranks)) {
            cell.in_place = placement == Placement::kInPlace;
            cell.type = type;
            cell.op = op;
            cell.root = root;
            AddSizes(options, cell, cells);
          }
        }
      }
    }
  }
  return cells;
}

int RunSweep(Session& session, const SweepOptions& options, const Launch& launch) {
  for (const int root : options.roots) {
    if (root >= session.ranks()) {
      throw Agreed<UsageError>(fmt::format("--root (-r): \"{}\": expected a rank of 0..{} or -1",
                                           root, session.ranks() - 1));
    }
  }
  return Sweep(session, options, launch).Run();
}

}  // namespace hockney
