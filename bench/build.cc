#include "bench/build.h"

#include <fmt/core.h>
#include <link.h>

#include <bit>
#include <cstddef>
#include <cstring>

namespace hockney {
namespace {

// The note of type NT_GNU_BUILD_ID among `bytes` of notes, in hexadecimal.
std::string FindBuildId(const char* notes, std::size_t bytes) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  std::string id;
  ElfW(Nhdr) note{};
  for (std::size_t at = 0; at + sizeof note <= bytes && id.empty();) {
    std::memcpy(&note, notes + at, sizeof note);
    const char* name = notes + at + sizeof note;
    const char* data = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && std::strncmp(name, "GNU", note.n_namesz) == 0) {
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(data[i]));
      }
    }
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return id;
}

// The first object that the loader lists is the program.
int ReadFirstObject(dl_phdr_info* info, std::size_t /*size*/, void* id) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = std::bit_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    auto& text = *static_cast<std::string*>(id);
    if (text.empty()) text = FindBuildId(notes, segment.p_memsz);
  }
  return 1;
}

std::string ReadBuildId() {
  std::string id;
  dl_iterate_phdr(ReadFirstObject, &id);
  return id;
}

}  // namespace

// The names in capitals are compile definitions of this file; CMake knows their values.
Build ReadBuild() {
  return {
      .version = HOCKNEY_VERSION,
#ifdef __clang__
      .compiler = "clang " __clang_version__,
#else
      .compiler = "gcc " __VERSION__,
#endif
      .type = HOCKNEY_BUILD_TYPE,
      .sanitizer = HOCKNEY_BUILD_SANITIZER,
      .ucx = HOCKNEY_UCX_VERSION,
      .hwloc = HOCKNEY_HWLOC_VERSION,
      .cuda = HOCKNEY_CUDA_VERSION,
      .id = ReadBuildId(),
  };
}

}  // namespace hockney
