#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/nccl_tests/table.h"

namespace hockney {

// What the file says about the start.
struct JsonStart {
  std::vector<std::string> arguments = {};    // the program first
  std::vector<std::string> environment = {};  // NAME=value; only IsRecordedVariable (facts.h) stay
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
};

// The file of -J: schema version 3 of nccl-tests v2.19, same keys and kinds of values (booleans and
// root are texts there), numbers unrounded. Different on purpose: the environment is an allow-list,
// every rank is a device, nccl_version is null, NaN is null, `errors` is empty when there is none,
// and the file is complete JSON after every row: a run that was killed lacks only the keys that
// Finish adds. Each row rewrites the file. For rank 0 only.
class NcclTestsJson {
 public:
  // Writes the file of run.options.json_path. If there is one, `.0`, `.1`, ... is added, as
  // nccl-tests does; the name is claimed at once, so two runs never share a file. Throws
  // EnvironmentError naming path and cause if it cannot be written (nccl-tests then goes on without
  // a file and ends with 0).
  NcclTestsJson(const NcclTestsRun& run, const JsonStart& start);
  ~NcclTestsJson();
  NcclTestsJson(NcclTestsJson&&) noexcept;
  NcclTestsJson& operator=(NcclTestsJson&&) noexcept;
  NcclTestsJson(const NcclTestsJson&) = delete;
  NcclTestsJson& operator=(const NcclTestsJson&) = delete;

  // The file's name, and the line that nccl-tests prints about it before the table.
  const std::string& path() const { return path_; }
  std::string Note() const;

  // Adds a row, and the end (`minimum_busbw` as for TableFooter). Throw EnvironmentError as above;
  // the file then stays as it was.
  void Add(const TableRow& row);
  void Finish(const RunTotals& totals, std::optional<double> minimum_busbw,
              std::span<const std::string> errors, std::chrono::system_clock::time_point time);

 private:
  void Write() const;

  std::string path_;
  Collective collective_;
  std::unique_ptr<nlohmann::ordered_json> document_;
};

}  // namespace hockney
