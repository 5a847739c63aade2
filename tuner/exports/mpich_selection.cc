#include "tuner/exports/mpich_selection.h"

#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace hockney {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libmpich.so";

// Path of the first loaded object of that name; written through `data`.
int NoteMpich(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (path.find(kLibrary) == std::string::npos) return 0;
  *static_cast<std::string*>(data) = path;
  return 1;
}

std::vector<fs::path> Folders() {
  std::vector<fs::path> folders;
  const char* given = std::getenv("LD_LIBRARY_PATH");
  std::istringstream list(given == nullptr ? "" : given);
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (const char* folder :
       {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64/mpich/lib", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::string FindLibrary() {
  std::string loaded;
  dl_iterate_phdr(NoteMpich, &loaded);
  if (!loaded.empty()) return loaded;
  for (const fs::path& folder : Folders()) {
    for (const char* name : {"libmpich.so.12", kLibrary}) {
      std::error_code error;
      if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
    }
  }
  return "";
}

}  // namespace

MpichSelection FindMpichSelection(std::string_view library) {
  constexpr std::string_view kStart = "{\"collective=";
  MpichSelection found;
  for (std::size_t at = library.find(kStart); at != std::string_view::npos;
       at = library.find(kStart, at)) {
    const std::size_t end = library.find('\0', at);
    const std::string_view text = library.substr(at, end - at);
    if (text.find("algorithm=MPIR_") != std::string_view::npos) {
      found.general = text;
    } else if (text.find("composition=MPIDI_") != std::string_view::npos) {
      found.device = text;
    }
    at += text.size();
  }
  return found;
}

MpichSelection ReadMpichSelection() {
  const std::string path = FindLibrary();
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  MpichSelection found = FindMpichSelection(bytes.view());
  found.source = path;
  return found;
}

}  // namespace hockney
