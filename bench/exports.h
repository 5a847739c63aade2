#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/exports/exports.h"

namespace hockney {

// A form in which other libraries read rules.
struct ExportForm {
  std::string_view name = {};            // of --export
  std::string_view implementation = {};  // whose measured rows the rules are made of
  Exported (*write)(const Tuning& tuning) = nullptr;
};

// All that are built in.
std::span<const ExportForm> AllExports();

}  // namespace hockney
