#pragma once

#include "bench/command.h"

namespace hockney {

Command FitCommand();
Command InfoCommand();
Command LinksCommand();
Command ListCommand();
Command SweepCommand();
Command TuneCommand();

}  // namespace hockney
