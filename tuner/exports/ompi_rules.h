#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/types.h"

namespace hockney {

// A rule file of Open MPI's coll/tuned in its classic form (coll_tuned_dynamic_rules_filename):
// whole numbers `collectives { id sizes { ranks rules { bytes algorithm faninout segment } } }`,
// '#' starts a comment. An entry counts from its key, included, to the next one's.

// From so many bytes on: an algorithm by Open MPI's number, 0 for its own choice.
struct OmpiMessageRule {
  std::uint64_t min_bytes = 0;
  int algorithm = 0;
  int faninout = 0;
  std::uint64_t segment_bytes = 0;
  std::optional<int> max_requests = {};  // the fifth number that 5.0.7 and later may read
  std::size_t line = 0;                  // where it was read
};

// From so many ranks on.
struct OmpiRankRules {
  std::int64_t ranks = 0;
  std::vector<OmpiMessageRule> rules = {};
  std::size_t line = 0;
};

struct OmpiCollectiveRules {
  int id = 0;  // 0 to 21
  std::vector<OmpiRankRules> ranks = {};
  std::size_t line = 0;
};

using OmpiRules = std::vector<OmpiCollectiveRules>;

// Open MPI's number of a collective, nothing for send_recv. Its message size is hockney's size
// column in all of them: one vector of all_reduce, broadcast and reduce, the blocks of all ranks
// together in the others. reduce_scatter is that of equal blocks, reduce_scatter_block.
std::optional<int> OmpiIdOf(Collective collective);

// Reads such a file. Open MPI takes numbers wherever they stand; here each message rule has a line
// of its own, with 4 numbers or all with 5, so that a missing or an extra one cannot shift those
// behind it. Throws InputError `<file>:<line>:<column>: ...` for anything else: letters, signs,
// numbers with a leading zero (octal to Open MPI) or above 2^63-1, counts that do not fit, numbers
// behind the end. A first line `rule-file-version-2` is the mark of five numbers.
OmpiRules ReadOmpiRules(std::string_view file, std::string_view text);

// Throws InputError for what makes Open MPI 4.1 ignore the whole file without a word, or use an
// entry where it was not meant: a first message rule that is not of 0 bytes, keys that do not
// ascend, a collective twice, a collective whose first entry is not a guard (0 ranks, algorithm 0),
// five numbers.
void CheckOmpiRules(std::string_view file, const OmpiRules& rules);

// The text of rules, with four numbers a rule.
std::string FormatOmpiRules(const OmpiRules& rules);

// The entry that Open MPI uses for a call; null where the collective has no rules.
const OmpiMessageRule* FindOmpiRule(const OmpiRules& rules, int id, std::int64_t ranks,
                                    std::uint64_t bytes);

}  // namespace hockney
