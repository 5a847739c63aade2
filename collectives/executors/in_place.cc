#include "collectives/executors/in_place.h"

#include <functional>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

bool Overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  const std::less<> before;  // an order on pointers into different objects too
  return a != nullptr && b != nullptr && a_bytes > 0 && b_bytes > 0 && before(a, b + b_bytes) &&
         before(b, a + a_bytes);
}

}  // namespace

bool IsInPlace(const Call& call, const Layout& layout, int rank) {
  const std::size_t input_bytes = layout.BufferBytes(rank, Buffer::kInput);
  const std::size_t output_bytes = layout.BufferBytes(rank, Buffer::kOutput);
  if (!Overlap(call.input, input_bytes, call.output, output_bytes)) return false;
  const Layout::InPlace place = layout.FindInPlace(rank);
  const bool right = place.input_inside_output ? call.input == call.output + place.offset
                                               : call.output == call.input + place.offset;
  if (!place.supported || !right) {
    throw std::invalid_argument(std::string(Name(call.shape.collective)) +
                                ": input and output overlap, but not at the in-place offset");
  }
  return true;
}

}  // namespace hockney
