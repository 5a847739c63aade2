#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hockney::testing {

// An empty folder of this test, gone in the end.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("hockney_test" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  // A path in it that need not exist; "" is the folder itself.
  std::string Path(const std::string& name) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  const std::filesystem::path& path() const { return path_; }
  // Writes a file of that name and returns its path.
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return Path(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hockney::testing
