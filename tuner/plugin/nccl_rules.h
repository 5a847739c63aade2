#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// One line of the CSV that NCCL's example tuner reads: which algorithm and protocol NCCL shall take
// for sizes of a range, both ends included, in bytes as NCCL counts them (all-gather and
// reduce-scatter: of all ranks together).
struct NcclRule {
  static constexpr int kAny = -1;
  int function = 0;  // indices into tuner_abi's kFunctions, kAlgorithms and kProtocols
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  int algorithm = 0;
  int protocol = 0;
  int channels = kAny;  // kAny: NCCL's own number
  int nodes = kAny;
  int ranks = kAny;
  int pipe_ops = kAny;   // collectives of a group, over the channels
  std::size_t line = 0;  // in the file, from 1

  bool operator==(const NcclRule&) const = default;
};

inline constexpr std::size_t kMostNcclRules = 4096;

// Returns the rules of the text of a rule file, in its order:
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks
// with numPipeOps and regBuff as ninth and tenth field where wanted. Lines that are empty or begin
// with # are left out. Throws InputError `<file>:<line>:<column>: ...` for everything else: unknown
// names, a line of names, missing, further and empty fields, signs but -1, numbers that do not fit,
// spaces, tabs, carriage returns, lines of more than 254 bytes (NCCL's example cuts them), a
// regBuff other than -1 (ranks differ in it, and all must choose alike), and a rule for which an
// earlier one counts already. Needs nothing but the C++ library, since the plugin reads with it
// too.
std::vector<NcclRule> ParseNcclRules(std::string_view text, std::string_view file);

// Returns one line of a rule file, without its end.
std::string FormatNcclRule(const NcclRule& rule);

// Returns the first rule that counts for a call, or null.
const NcclRule* FindNcclRule(const std::vector<NcclRule>& rules, int function, std::uint64_t bytes,
                             int pipe_ops);

// Returns the rules that count for a communicator of so many ranks and nodes.
std::vector<NcclRule> NcclRulesFor(const std::vector<NcclRule>& rules, std::size_t ranks,
                                   std::size_t nodes);

// Returns a rule file's bytes. Throws InputError naming path and cause: it cannot be read, or is
// longer than 1 MiB.
std::string ReadNcclRuleFile(const std::string& path);

// Returns 16 hexadecimal digits (64-bit FNV-1a) by which hosts compare their rule files.
std::string HashOfNcclRules(std::string_view text);

}  // namespace hockney
