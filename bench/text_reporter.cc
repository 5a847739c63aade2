#include "bench/text_reporter.h"

#include "bench/sweep_report.h"

namespace hockney {

void TextReporter::Start(const nlohmann::ordered_json& /*facts*/) {}

void TextReporter::Add(const Cell& /*cell*/, const Competitor& competitor) {
  cell_rows_.push_back(competitor.row);
}

void TextReporter::EndCell(const Cell& /*cell*/) {
  PrintRows(cell_rows_, with_head_);
  with_head_ = false;
  cell_rows_.clear();
}

ExitCode TextReporter::Finish(std::span<const SweepRow> rows, bool /*finished*/) {
  PrintFastest(rows);
  PrintLegend(rows, options_);
  return ExitCode::kOk;
}

}  // namespace hockney
