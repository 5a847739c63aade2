#pragma once

// Run folders (results/README.md): their rows, their writer and their reader.

#include "tuner/records/csv.h"         // IWYU pragma: export
#include "tuner/records/kernel_row.h"  // IWYU pragma: export
#include "tuner/records/link_row.h"    // IWYU pragma: export
#include "tuner/records/run_folder.h"  // IWYU pragma: export
#include "tuner/records/step_row.h"   // IWYU pragma: export
#include "tuner/records/sweep_row.h"   // IWYU pragma: export
#include "tuner/records/table.h"       // IWYU pragma: export
