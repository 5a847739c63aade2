#pragma once

#include <string>
#include <vector>

#include "tuner/import/imported_table.h"

namespace hockney {

// What a log holds.
struct ImportedLog {
  std::vector<ImportedTable> tables = {};  // in the order of the file, each one series
  std::vector<std::string> notes = {};     // about tables that were left out
};

// Reads the log at `path`, whose format is found by what stands in it; several tables may follow
// each other, of several formats, with other output between them. Throws InputError, naming file,
// line and column, if it cannot be read or holds no table.
ImportedLog ReadLog(const std::string& path);

// The same of a text that stands at `path`.
ImportedLog ReadLogText(const std::string& path, std::string text);

}  // namespace hockney
