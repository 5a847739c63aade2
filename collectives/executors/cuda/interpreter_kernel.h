#pragma once

namespace hockney {

// Says whether this build holds the device interpreter (interpreter_kernel.cu) and that nothing has
// run it yet. No executor launches it.
const char* DeviceInterpreterStatus();

}  // namespace hockney
