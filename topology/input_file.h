#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hockney {

// Returns the text of a file that a user named. Throws InputError, naming path and cause, if it
// cannot be read or is longer than 64 MiB, which none of the files read here ever is.
std::string ReadInputFile(const std::string& path);

// A place in a text as editors count: both from 1, columns in bytes.
struct TextPosition {
  std::size_t line = 1;
  std::size_t column = 1;
};
// Returns where the byte `offset` of `text` stands; its end for an offset behind it.
TextPosition PositionAt(std::string_view text, std::size_t offset);

// Throws InputError `<file>:<line>:<column>: <message>`.
[[noreturn]] void FailInput(std::string_view file, TextPosition at, std::string_view message);

}  // namespace hockney
