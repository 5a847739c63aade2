#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// World ranks by group, ascending in each group; groups in the order of their first ranks.
using GroupMembers = std::vector<std::vector<int>>;

// Checks the text of --split as far as it can be without the ranks: DIV:n, MOD:n (rank / n, rank
// modulo n; n from 1), AND:n, OR:n (bit by bit), or a file. Numbers may be 0x and 0b ones. Throws
// UsageError naming `option`.
void CheckSplit(std::string_view option, const std::string& text);

// Returns the groups that a checked text of --split makes of `ranks` ranks: those that the rule
// gives the same number belong together. A file has a line a group, of ranks and ranges of them
// ("0-3 8,9"), '#' begins a comment, and every rank must stand there once. Throws InputError
// `<file>:<line>:<column>: ...`.
GroupMembers SplitRanks(const std::string& text, int ranks);

// Returns --split's text for nccl-tests' NCCL_TESTS_SPLIT: AND, OR, MOD, DIV or & | % / and a
// number, with or without space or colon between. Throws UsageError naming `option`.
std::string SplitOfNcclTests(std::string_view option, std::string_view text);

}  // namespace hockney
