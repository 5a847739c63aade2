#pragma once

#include <string>
#include <vector>

#include "tuner/select/tuning.h"

namespace hockney {

// What an export wrote for its consumer, and what it left out.
struct Exported {
  struct File {
    std::string name = {};  // within exports/ of the run folder
    std::string text = {};
  };
  std::vector<File> files = {};  // empty: there was nothing to write
  std::vector<std::string> notes =
      {};  // lines for people: how to use it, what was left out and why
};

// The rules as other libraries read them. Only rules measured with the consumer itself count: those
// of NCCL for ExportNccl, of Open MPI for ExportOmpi, of MPICH for ExportMpich. Where there are
// none the result has no file and a note that says so.

// The CSV of NCCL's example tuner, which hockney's own plugin reads too.
Exported ExportNccl(const Tuning& tuning);
// A file for `coll_tuned_dynamic_rules_filename`.
Exported ExportOmpi(const Tuning& tuning);
// A file for MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE.
Exported ExportMpich(const Tuning& tuning);

}  // namespace hockney
