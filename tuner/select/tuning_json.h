#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuner/select/tuning.h"

namespace hockney {

// As tuning.json holds it: schema `hockney-tuning`, an open end of the last range is null. `hockney
// tune` adds `regret` and `active_search`, which say how good the rules are and which readers skip.
nlohmann::ordered_json TuningJson(const Tuning& tuning);

// Reads a file that TuningJson wrote, and nothing that only looks like one: all keys must be there
// and no others, ranges must follow each other from 0 without gaps, tables must differ, and
// hockney's algorithms, protocols, stores and lanes must exist for their collective. Throws
// InputError: `<file>:<line>:<column>: ...` for what is no JSON,
// `<file>: <JSON path>: ...` else.
Tuning ReadTuning(const std::string& path);

// The same of a text that came out of `path`.
Tuning ParseTuning(const std::string& path, const std::string& text);

}  // namespace hockney
