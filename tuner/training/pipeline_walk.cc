#include "tuner/training/pipeline_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hockney {
namespace {

constexpr double kNotYet = -1;

class Walker {
 public:
  Walker(const PipelineSchedule& schedule, const PipelineTimes& times)
      : schedule_(schedule), times_(times), ranks_(static_cast<std::int64_t>(schedule.size())) {
    for (const std::vector<PipelineOp>& list : schedule) {
      for (const PipelineOp& op : list) {
        if (op.chunk < 0 || op.micro_batch < 0) Refuse(op, "has no such place");
        chunks_ = std::max(chunks_, op.chunk + 1);
        micro_batches_ = std::max(micro_batches_, op.micro_batch + 1);
        has_backward_ = has_backward_ || op.pass == Pass::kBackward;
      }
    }
    CheckCounts();
    CheckTimes(times.forward);
    CheckTimes(times.backward);
    for (auto& ends : ends_) ends.assign(ranks_ * chunks_ * micro_batches_, kNotYet);
    walk_.ranks.resize(ranks_);
    walk_.peak_activations.assign(ranks_, 0);
  }

  PipelineWalk Walk() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        while (Advance(rank)) moved = true;
      }
    }
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const std::size_t done = walk_.ranks[rank].size();
      if (done < schedule_[rank].size()) {
        Refuse(schedule_[rank][done], fmt::format("of rank {} never gets what it needs", rank));
      }
    }
    if (has_backward_) CountActivations();
    return std::move(walk_);
  }

 private:
  [[noreturn]] static void Refuse(const PipelineOp& op, const std::string& reason) {
    throw std::invalid_argument(fmt::format("{} of micro-batch {} through chunk {} {}",
                                            op.pass == Pass::kForward ? "forward" : "backward",
                                            op.micro_batch, op.chunk, reason));
  }

  void CheckCounts() const {
    const std::int64_t expected = chunks_ * micro_batches_ * (has_backward_ ? 2 : 1);
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const auto operations = static_cast<std::int64_t>(schedule_[rank].size());
      if (operations != expected) {
        throw std::invalid_argument(
            fmt::format("{} operations on rank {}, expected {}", operations, rank, expected));
      }
    }
  }

  void CheckTimes(const std::vector<double>& of_stages) const {
    const auto given = static_cast<std::int64_t>(of_stages.size());
    if (given != 1 && given != ranks_ * chunks_) {
      throw std::invalid_argument(
          fmt::format("{} times for {} stages, expected 1 or all", given, ranks_ * chunks_));
    }
    for (const double time : of_stages) {
      if (!(time >= 0) || !std::isfinite(time)) {
        throw std::invalid_argument(fmt::format("time {}, expected finite and from 0 up", time));
      }
    }
    if (!(times_.transfer >= 0) || !std::isfinite(times_.transfer)) {
      throw std::invalid_argument(
          fmt::format("transfer time {}, expected finite and from 0 up", times_.transfer));
    }
  }

  // Where the end of a pass is kept.
  double& EndOf(Pass pass, std::int64_t stage, std::int64_t micro_batch) {
    return ends_[static_cast<std::size_t>(pass)][stage * micro_batches_ + micro_batch];
  }

  // When what a pass needs is there, or kNotYet.
  double NeedsAt(const PipelineOp& op, std::int64_t stage) {
    const std::int64_t last = ranks_ * chunks_ - 1;
    const double transfer = ranks_ > 1 ? times_.transfer : 0;
    if (op.pass == Pass::kForward) {
      if (stage == 0) return 0;
      const double before = EndOf(Pass::kForward, stage - 1, op.micro_batch);
      return before == kNotYet ? kNotYet : before + transfer;
    }
    const double own = EndOf(Pass::kForward, stage, op.micro_batch);
    if (own == kNotYet || stage == last) return own;
    const double behind = EndOf(Pass::kBackward, stage + 1, op.micro_batch);
    return behind == kNotYet ? kNotYet : std::max(own, behind + transfer);
  }

  double TimeOf(const PipelineOp& op, std::int64_t stage) const {
    const std::vector<double>& of_stages =
        op.pass == Pass::kForward ? times_.forward : times_.backward;
    return of_stages[of_stages.size() == 1 ? 0 : stage];
  }

  // Times the next operation of a rank; false if there is none or it has to wait for another rank.
  bool Advance(std::int64_t rank) {
    std::vector<TimedOp>& done = walk_.ranks[rank];
    if (done.size() == schedule_[rank].size()) return false;
    const PipelineOp& op = schedule_[rank][done.size()];
    const std::int64_t stage = op.chunk * ranks_ + rank;
    if (EndOf(op.pass, stage, op.micro_batch) != kNotYet) {
      Refuse(op, fmt::format("of rank {} stands there twice", rank));
    }
    const double needs = NeedsAt(op, stage);
    if (needs == kNotYet) return false;
    const double start = std::max(needs, done.empty() ? 0 : done.back().end);
    const double end = start + TimeOf(op, stage);
    EndOf(op.pass, stage, op.micro_batch) = end;
    done.push_back({op, start, end});
    walk_.total = std::max(walk_.total, end);
    walk_.busy += end - start;
    return true;
  }

  void CountActivations() {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      std::int64_t kept = 0;
      for (const PipelineOp& op : schedule_[rank]) {
        kept += op.pass == Pass::kForward ? 1 : -1;
        walk_.peak_activations[rank] = std::max(walk_.peak_activations[rank], kept);
      }
    }
  }

  const PipelineSchedule& schedule_;
  const PipelineTimes& times_;
  std::int64_t ranks_;
  std::int64_t chunks_ = 0;
  std::int64_t micro_batches_ = 0;
  bool has_backward_ = false;
  std::vector<double> ends_[2];  // by pass; in it by stage and micro-batch
  PipelineWalk walk_;
};

double IdleOf(const PipelineWalk& walk) {
  return static_cast<double>(walk.ranks.size()) * walk.total - walk.busy;
}

// How a table names operations.
struct TableStyle {
  bool passes = false;
  bool chunks = false;
};

std::string Place(const PipelineOp& op, const TableStyle& style) {
  return MicroBatchName(op.micro_batch) + (style.chunks ? std::to_string(op.chunk) : "");
}

std::string Cell(const std::vector<TimedOp>& list, double slot, const TableStyle& style) {
  for (const TimedOp& timed : list) {
    if (timed.start > slot || timed.end < slot + 1) continue;
    std::string place = Place(timed.op, style);
    if (!style.passes) return place;
    return fmt::format("{}({})", timed.op.pass == Pass::kForward ? 'F' : 'B', place);
  }
  return "idle";
}

std::string KeptBeyond(const std::vector<TimedOp>& list, double slot, const TableStyle& style) {
  std::vector<std::string> kept;
  for (const TimedOp& timed : list) {
    if (timed.end > slot + 1) break;
    if (timed.op.pass == Pass::kForward) {
      kept.push_back(Place(timed.op, style));
    } else {
      std::erase(kept, Place(timed.op, style));
    }
  }
  return kept.empty() ? "none" : fmt::format("{}", fmt::join(kept, ","));
}

}  // namespace

PipelineWalk WalkPipeline(const PipelineSchedule& schedule, const PipelineTimes& times) {
  return Walker(schedule, times).Walk();
}

double BubbleOfWall(const PipelineWalk& walk) {
  const double wall = static_cast<double>(walk.ranks.size()) * walk.total;
  return wall > 0 ? IdleOf(walk) / wall : 0;
}

double BubbleOfIdeal(const PipelineWalk& walk) {
  return walk.busy > 0 ? IdleOf(walk) / walk.busy : 0;
}

std::string MicroBatchName(std::int64_t micro_batch) {
  std::string name;
  for (std::int64_t rest = micro_batch; rest >= 0; rest = rest / 26 - 1) {
    name.insert(name.begin(), static_cast<char>('A' + rest % 26));
  }
  return name;
}

std::vector<std::string> SlotTable(const PipelineWalk& walk) {
  TableStyle style;
  for (const std::vector<TimedOp>& list : walk.ranks) {
    for (const TimedOp& timed : list) {
      style.passes = style.passes || timed.op.pass == Pass::kBackward;
      style.chunks = style.chunks || timed.op.chunk > 0;
      if (timed.start != std::floor(timed.start) || timed.end != std::floor(timed.end)) {
        throw std::invalid_argument(fmt::format("an operation from {} to {}, expected whole slots",
                                                timed.start, timed.end));
      }
    }
  }
  std::vector<std::string> lines;
  for (std::int64_t i = 0; static_cast<double>(i) < walk.total; ++i) {
    const auto slot = static_cast<double>(i);
    std::vector<std::string> fields;
    for (const std::vector<TimedOp>& list : walk.ranks) fields.push_back(Cell(list, slot, style));
    if (style.passes) fields.push_back(KeptBeyond(walk.ranks.front(), slot, style));
    lines.push_back(fmt::format("{}", fmt::join(fields, " | ")));
  }
  return lines;
}

}  // namespace hockney
