#pragma once

#include "bench/device/device_source.h"

namespace hockney {

// The program: what main() is given, and what it returns. `devices` is where ranks get theirs.
int RunProgram(int argc, char** argv, const DeviceSource& devices = {});

}  // namespace hockney
