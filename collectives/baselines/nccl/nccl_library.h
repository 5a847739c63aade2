#pragma once

#include <memory>
#include <string>

namespace hockney {

struct NcclApi;

// A libnccl that was found at run time; no binary of ours names one. The functions it has, and not
// its number alone, say what it can do. Compiled where nccl.h is; elsewhere Load always fails.
class NcclLibrary {
 public:
  // Loads the library at `path` ("libnccl.so.2" lets the loader look for it), or one that is loaded
  // already. Needs no GPU. Throws EnvironmentError naming path and cause if there is none, if it
  // lacks a function that NCCL has had since 2.19, or if this build has no nccl.h.
  static NcclLibrary Load(const std::string& path);

  // As users write it, e.g. "2.28.9".
  std::string version() const;
  // The file it came from.
  const std::string& file() const { return file_; }
  const NcclApi& api() const { return *api_; }

 private:
  std::shared_ptr<const NcclApi> api_;
  std::string file_;
};

// The version of a number as ncclGetVersion gives it: 22809 is "2.28.9", 2804 was "2.8.4".
std::string NcclVersionText(int number);

// The nccl.h this was built with, "2.28.9"; "" without one.
std::string NcclHeaderVersion();

}  // namespace hockney
