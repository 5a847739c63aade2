#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tuner/exports/ompi_rules.h"
#include "tuner/records.h"

namespace hockney {

// What exported rules are worth, in Markdown.
struct GainReport {
  std::string text = {};
  std::size_t cells_compared = 0;
};

// Compares MPI's default rows of two run folders: as the library chooses, and with the exported
// rules read by it. Launch k of one belongs to launch k of the other, which ran beside it. A gain
// is the time without the rules over the time with them: above 1, the rules are faster. Figures are
// medians over launches with the bootstrap interval of RatioOfMedians; means are geometric, over
// all sizes. `rules` says which algorithm the file names for each size.
GainReport ReportExportGain(std::span<const SweepRow> defaults, std::span<const SweepRow> exported,
                            const OmpiRules& rules);

// The collectives that the rules name, as hockney calls them.
std::vector<Collective> CollectivesOf(const OmpiRules& rules);

}  // namespace hockney
