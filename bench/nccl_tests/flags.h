#pragma once

#include <optional>
#include <span>
#include <string>

namespace hockney {

// nccl-tests' command line as text, with the defaults of v2.19; then hockney's own options. An
// empty text is an option that was not given.
struct NcclTestsTexts {
  std::string threads = "1";
  std::string gpus = "1";
  std::string begin = "32M";
  std::string end = "32M";
  std::string increment = {};  // 1M unless a factor is given
  std::string factor = "1";
  std::string iterations = "20";
  std::string warmups = "1";
  std::string aggregated = "1";
  std::string cycles = "1";
  std::string checks = "1";
  std::string ops = "sum";
  std::string types = "float";
  std::string root = "0";
  std::string blocking = "0";
  std::string timeout = "0";
  std::string timestamps = "0";
  std::string json = {};
  std::string average = "1";
  std::string unalign = "0";
  std::string per_iteration = "0";
  std::string per_iteration_skip = "0";

  std::string algorithm = {};
  std::string implementation = "hockney";
  std::string local = {};
  std::string local_processes = {};
  std::string out = {};
  std::string expect_ranks = {};
  std::string seed = "1";
};

// Splits the command line, the program's name first in `words`; nothing if it asks for help. As
// with getopt, the last of several counts. Throws UsageError for an option or argument that is
// unknown, an option without value, and one that means something only on a GPU unless its value
// asks for nothing.
std::optional<NcclTestsTexts> SplitNcclTestsCommandLine(std::span<const std::string> words);

// The text of -h for the program of this name.
std::string NcclTestsHelp(const std::string& program);

}  // namespace hockney
