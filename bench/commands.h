#pragma once

#include "bench/command.h"

namespace hockney {

Command FitCommand();
Command ImportCommand();
Command InfoCommand();
Command LinksCommand();
Command ListCommand();
Command SimulateCommand();
Command StepCommand();
Command SweepCommand();
Command TuneCommand();

}  // namespace hockney
