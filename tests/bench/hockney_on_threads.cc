// The program with devices whose blocks are threads of this CPU, where a user's has GPUs.
// HOCKNEY_TEST_DEVICES says how many a process sees, "corrupt" that what is read from them is
// wrong.
#include <cstdlib>
#include <string>

#include "bench/program.h"
#include "tests/collectives/thread_device.h"

int main(int argc, char** argv) {
  const char* given = std::getenv("HOCKNEY_TEST_DEVICES");
  const std::string text = given == nullptr ? "2" : given;
  const bool corrupts = text == "corrupt";
  const int count = corrupts ? 2 : std::stoi(text);
  hockney::DeviceSource devices;
  devices.find = [count] {
    return hockney::CudaDevices{.count = count, .reason = count == 0 ? "none was asked for" : ""};
  };
  devices.open = [corrupts](int ordinal) {
    return hockney::testing::MakeThreadDevice(
        {.corrupts = corrupts, .id = "device " + std::to_string(ordinal)});
  };
  return hockney::RunProgram(argc, argv, devices);
}
