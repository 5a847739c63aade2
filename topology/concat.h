#pragma once

#include <sstream>
#include <string>

namespace hockney {

// Returns the parts as one text, as a stream writes them. For the files that also build on machines
// that have nothing but a compiler and CUDA (gpu_check); others use fmt.
template <class... Parts>
std::string Concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace hockney
