#pragma once

#include "bench/command.h"

namespace hockney {

Command FitCommand();
Command InfoCommand();
Command LinksCommand();
Command ListCommand();
Command SimulateCommand();
Command SweepCommand();

}  // namespace hockney
