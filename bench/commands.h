#pragma once

#include "bench/command.h"

namespace hockney {

Command FitCommand();
Command ImportCommand();
Command InfoCommand();
Command LinksCommand();
Command ListCommand();
Command SimulateCommand();
Command SweepCommand();
Command TuneCommand();

}  // namespace hockney
