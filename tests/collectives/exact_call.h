#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/executors/host/host_executor.h"

namespace hockney::testing {

// One collective on the host executor's rank threads, for tests that state inputs and outputs by
// value instead of comparing with the reference interpreter.
struct ExactCall {
  const Algorithm* row = nullptr;
  Counts counts{};
  DataType type = DataType::kFloat64;
  ReduceOp op = ReduceOp::kSum;
  bool in_place = false;
  Protocol protocol = Protocol::kSimple;
  int calls = 1;
  // What a rank passes for a buffer that the collective does not give it.
  std::byte* absent_buffer = nullptr;
};

// Called on every rank's thread, before and after each call: writes the input, and says what is
// wrong with the output ("" if nothing).
using FillInputOf = std::function<void(int rank, std::span<std::byte> input)>;
using CheckOutputOf = std::function<std::string(int rank, std::span<const std::byte> output)>;

// Returns "", or the first complaint after the call's name: of `check`, or that an input of a call
// apart or a byte outside the buffers was written to. Outputs hold 0x5a before each call.
std::string RunExactly(const ExactCall& call, const FillInputOf& fill, const CheckOutputOf& check);

// The same with every rank's input and output given.
template <class T>
std::string RunExactly(const ExactCall& call, const std::vector<std::vector<T>>& inputs,
                       const std::vector<std::vector<T>>& outputs);

std::vector<Protocol> ProtocolsOf(const Algorithm& row);

// Calls `visit` with every row of the collective in each of its protocols.
template <class Visit>
void ForEachVariant(Collective collective, Visit visit) {
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective != collective) continue;
    for (const Protocol protocol : ProtocolsOf(row)) {
      ExactCall call;
      call.row = &row;
      call.protocol = protocol;
      visit(call);
    }
  }
}

template <class T>
std::string RunExactly(const ExactCall& call, const std::vector<std::vector<T>>& inputs,
                       const std::vector<std::vector<T>>& outputs) {
  return RunExactly(
      call,
      [&](int rank, std::span<std::byte> input) {
        if (input.size() != inputs[rank].size() * sizeof(T)) throw std::logic_error("input length");
        if (!input.empty()) std::memcpy(input.data(), inputs[rank].data(), input.size());
      },
      [&](int rank, std::span<const std::byte> output) -> std::string {
        if (output.size() != outputs[rank].size() * sizeof(T)) return "another length";
        const auto wanted = std::as_bytes(std::span(outputs[rank]));
        const auto at = std::mismatch(output.begin(), output.end(), wanted.begin()).first;
        if (at == output.end()) return "";
        const std::size_t element = static_cast<std::size_t>(at - output.begin()) / sizeof(T);
        T got{};
        std::memcpy(&got, output.data() + element * sizeof(T), sizeof(T));
        return "element " + std::to_string(element) + " is " + std::to_string(got) + ", not " +
               std::to_string(outputs[rank][element]);
      });
}

}  // namespace hockney::testing
