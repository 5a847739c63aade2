#include "bench/training/same_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "topology/agree.h"
#include "topology/check.h"
#include "topology/gather_values.h"

namespace hockney {
namespace {

std::string TextOf(const ModelParameter& parameter) {
  return fmt::format("{} {} {}", parameter.name, fmt::join(parameter.shape, "x"),
                     Name(parameter.type));
}

std::string TextOf(const ModelDescription& model, std::size_t index) {
  return index < model.parameters.size() ? TextOf(model.parameters[index]) : "missing";
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string StringOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first tensor in which this list differs from rank 0's; nothing if none does.
std::optional<std::uint64_t> FirstDifference(Session& session, const ModelDescription& model) {
  std::string list;
  for (const ModelParameter& each : model.parameters) list += TextOf(each) + "\n";
  std::uint64_t bytes = list.size();
  session.Broadcast(std::as_writable_bytes(std::span(&bytes, 1)), 0);
  std::string first = list;
  first.resize(bytes);
  session.Broadcast(std::as_writable_bytes(std::span(first)), 0);
  if (first == list) return std::nullopt;
  const auto at = std::mismatch(first.begin(), first.end(), list.begin(), list.end()).first;
  return static_cast<std::uint64_t>(std::count(first.begin(), at, '\n'));
}

}  // namespace

void RequireSameModel(Session& session, const ModelDescription& model) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  const std::uint64_t mine = FirstDifference(session, model).value_or(kNone);
  const std::uint64_t first = MinOverRanks(session, mine);
  if (first == kNone) return;
  const std::string text = TextOf(model, first);
  const auto all = session.AllGather(BytesOf(text));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw Agreed<InputError>(
        fmt::format("parameter {} is \"{}\" on rank 0 and \"{}\" on rank {}: expected the same "
                    "model on all ranks",
                    first, StringOf(all[0]), StringOf(all[rank]), rank));
  }
}

}  // namespace hockney
