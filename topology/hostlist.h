#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// A hostlist expression is malformed; what() holds the expression and what is wrong.
class HostlistError : public std::invalid_argument {
 public:
  HostlistError(const std::string& text, std::size_t offset)
      : std::invalid_argument(text), offset_(offset) {}
  std::size_t offset() const { return offset_; }  // of the fault in the expression, bytes

 private:
  std::size_t offset_;
};

// Returns the names that Slurm's "a,host[1-4,07-10]-ib,r[0-1]n[0-3]" stands for, in its order; the
// last brackets vary fastest. A range counts with the leading zeros of its first number. Throws
// HostlistError for an empty name, brackets that do not fit, a range that runs backwards, and more
// than 1,048,576 names.
std::vector<std::string> ExpandHostlist(std::string_view text);

}  // namespace hockney
