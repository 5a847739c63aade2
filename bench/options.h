#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/types.h"

namespace CLI {
class Option;
}

namespace hockney {

// A bad command line: the program exits 2. what() is one line, for example
// `--minbytes (-b): "12Q": expected a whole number of bytes ...`.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// In all functions `option` is the option as people know it, "--minbytes (-b)", for messages only.

// Throws UsageError `<option>: "<text>": expected <expected>`.
[[noreturn]] void FailOption(std::string_view option, std::string_view text,
                             std::string_view expected);

// An option as messages name it: "--minbytes (-b)", or the name of a positional one.
std::string OptionName(const CLI::Option& option);

// Returns a whole number >= `least`. Throws UsageError for anything else: signs, fractions, spaces,
// 0x, above 64 bits.
std::uint64_t ParseCount(std::string_view option, std::string_view text, std::uint64_t least = 0);

// Whether a duration may be written without its unit.
enum class BareNumber {
  kRefused,
  kSeconds,  // nccl-tests' -T 60
};

// Returns seconds (> 0) from a number, fractions allowed, with unit us, ms, s, min or h: "500ms",
// "1.5s". Throws UsageError.
double ParseDuration(std::string_view option, std::string_view text,
                     BareNumber bare = BareNumber::kRefused);

// Returns the parts of "a,b,c", empty ones too; none of an empty text.
std::vector<std::string> CutAtCommas(const std::string& text);

// Returns the entries of "a,b,c" in their order, each once, or all `names` for "all". Throws
// UsageError for an empty entry and for one that is not in `names` (compared exactly), listing
// `names` and the closest of them.
std::vector<std::string> ParseNames(std::string_view option, std::string_view text,
                                    std::span<const std::string_view> names);

// The same for algorithms, where `hierarchical(intra,inter)` and `hierarchical(intra,rack,inter)`
// are entries too.
std::vector<std::string> ParseAlgorithms(std::string_view option, std::string_view text,
                                         std::span<const std::string_view> names);

// Throws UsageError if the levels in `text` (HasLevels) are none, or do not fit the collective.
void CheckLevels(std::string_view option, std::string_view text, Collective collective);

// The same over the enumerations, in every spelling that ParseCollective and its siblings know.
std::vector<Collective> ParseCollectives(std::string_view option, std::string_view text);
std::vector<DataType> ParseDataTypes(std::string_view option, std::string_view text);
std::vector<ReduceOp> ParseReduceOps(std::string_view option, std::string_view text);

// Returns the name that `text` most likely stands for: fewest edits, at most a third of the longer
// one's length; nothing if none is that close. So there is nothing for a short option: every other
// one is one edit away.
std::optional<std::string_view> Suggest(std::string_view text,
                                        std::span<const std::string_view> names);

// Whole numbers of 1 to `most`, comma-separated.
std::vector<int> ParseInts(const char* option, const std::string& text, std::uint64_t most);

// Returns the index of `text` among the names. Throws UsageError listing them.
int ParseChoice(const char* option, const std::string& text,
                std::span<const std::string_view> names);

}  // namespace hockney
