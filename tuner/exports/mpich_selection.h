#pragma once

#include <string>
#include <string_view>

#include "tuner/exports/exports.h"

namespace hockney {

// MPICH's own choice of algorithms, as JSON. A file that a user gives replaces all of it, for every
// collective, and MPICH ends where the file says nothing; so exports build on it.
struct MpichSelection {
  std::string general = {};  // MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE
  std::string device = {};   // MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE; empty without ch4
  std::string source = {};   // the file it was found in
};

// Finds them in the bytes of libmpich.so, which holds them as text; empty where there is none.
MpichSelection FindMpichSelection(std::string_view library);

// The same of the library that this process has loaded, else of that which the folders of
// LD_LIBRARY_PATH and the usual ones hold. Empty if there is none.
MpichSelection ReadMpichSelection();

// ExportMpich on a selection. Two files: the algorithms, and for ch4 of MPICH 4.0, which has
// shortcuts of its own within a host, where to use them.
Exported ExportMpich(const Tuning& tuning, const MpichSelection& selection);

}  // namespace hockney
