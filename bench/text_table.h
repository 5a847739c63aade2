#pragma once

#include <string>
#include <vector>

namespace hockney {

// Returns the rows as lines of columns two blanks apart, the first row being the names; every row
// has as many cells. Columns whose cells are all numbers or "-" are set to the right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

// The same as a Markdown table, whose columns are padded so that it also reads well as it is.
std::string FormatMarkdownTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace hockney
