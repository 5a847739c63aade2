#include "collectives/baselines/mpi/mpi_library.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "collectives/baselines/mpi/tools_interface.h"
#include "topology/check.h"
#include "topology/session_mpi.h"

namespace hockney {
namespace {

// The open components of one of Open MPI's frameworks, from categories such as "ompi_pml_ob1".
std::vector<std::string> OpenComponents(const std::vector<std::string>& categories,
                                        std::string_view framework) {
  std::vector<std::string> components;
  for (const std::string& category : categories) {
    if (!category.starts_with(framework)) continue;
    const std::string component = category.substr(framework.size());
    if (component != "base") components.push_back(component);
  }
  std::sort(components.begin(), components.end());
  return components;
}

std::string LibraryVersion() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  HOCKNEY_CHECK(MPI_Get_library_version(version.data(), &length));
  return std::string(version.data(), static_cast<std::size_t>(length));
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The rest of the line that begins with `key` and a colon.
std::string_view FindField(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view line = text.substr(at, text.find('\n', at) - at);
  const std::size_t colon = line.find(':');
  return colon == std::string_view::npos ? std::string_view() : Trim(line.substr(colon + 1));
}

}  // namespace

std::string ShortMpiVersion(std::string_view library_version) {
  constexpr std::string_view kOpenMpi = "Open MPI v";  // "Open MPI v4.1.4, package: ..."
  if (library_version.starts_with(kOpenMpi)) {
    const std::size_t comma = library_version.find(',');
    return fmt::format("Open MPI {}",
                       Trim(library_version.substr(kOpenMpi.size(), comma - kOpenMpi.size())));
  }
  for (const std::string_view name : {"MPICH", "MVAPICH2", "MVAPICH"}) {
    if (!library_version.starts_with(name)) continue;  // "MPICH Version:      4.0.2\nMPICH ..."
    const std::string_view version = FindField(library_version, fmt::format("{} Version", name));
    if (!version.empty()) return fmt::format("{} {}", name, version);
  }
  return std::string(Trim(library_version.substr(0, library_version.find('\n'))));
}

std::string MpiLibrary() { return ShortMpiVersion(LibraryVersion()); }

MpiTransport ReadMpiTransport() {
  const std::string version = LibraryVersion();
  const std::string_view device = FindField(version, "MPICH Device");
  if (!device.empty()) return {fmt::format("device={}", device), ""};
  const ToolsInterface tools;
  const std::vector<std::string> categories = tools.Categories();
  const std::vector<std::string> pml = OpenComponents(categories, "ompi_pml_");
  if (pml.size() != 1) return {"unknown", ""};  // it opens all, then closes all but one
  // Other layers than ob1 move no messages by a btl, even where one is left open.
  if (pml[0] != "ob1") return {fmt::format("pml={} coll=unknown", pml[0]), ""};
  const std::vector<std::string> btl = OpenComponents(categories, "opal_btl_");
  return {fmt::format("pml=ob1 btl={} coll=unknown", fmt::join(btl, ",")),
          tools.EnumValue("btl_vader_single_copy_mechanism")};
}

std::string WhyNoMpiSharedMemory(const MpiTransport& transport) {
  const std::string& module = transport.module;
  const bool has_it = module.find("vader") != std::string::npos ||
                      module.find("sm") != std::string::npos || !module.starts_with("pml=ob1");
  // mpirun --mca btl ... arrives in the environment.
  if (has_it || std::getenv("OMPI_MCA_btl") != nullptr) return "";
  constexpr const char* kFolder = "/dev/shm";
  struct statvfs room {};
  std::string found;
  if (statvfs(kFolder, &room) == 0) {
    found = fmt::format(" ({} has {} bytes free)", kFolder, room.f_bavail * room.f_frsize);
  }
  return fmt::format("Open MPI could not make its shared memory{}; its messages would take {}",
                     found, module);
}

}  // namespace hockney
