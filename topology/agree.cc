#include "topology/agree.h"

#include <exception>
#include <span>
#include <stdexcept>
#include <string>

#include "topology/check.h"
#include "topology/concat.h"
#include "topology/session.h"

namespace hockney {
namespace {

constexpr char kEnvironment = 'e';
constexpr char kArgument = 'a';
constexpr char kInput = 'i';
constexpr char kOther = 'o';

// Returns one character of kind and the text, empty if `step` succeeds.
std::string FailureOf(const std::function<void()>& step) {
  try {
    step();
    return {};
  } catch (const TimeoutError&) {
    throw;
  } catch (const EnvironmentError& error) {
    return kEnvironment + std::string(error.what());
  } catch (const std::invalid_argument& error) {
    return kArgument + std::string(error.what());
  } catch (const InputError& error) {
    return kInput + std::string(error.what());
  } catch (const std::exception& error) {
    return kOther + std::string(error.what());
  }
}

}  // namespace

void RunOnAllOrThrow(Session& session, const std::function<void()>& step) {
  const std::string mine = FailureOf(step);
  const auto failures = session.AllGather(std::as_bytes(std::span(mine)));
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    const std::string failure(reinterpret_cast<const char*>(failures[rank].data()),
                              failures[rank].size());
    if (failure[0] == kInput) throw Agreed<InputError>(failure.substr(1));  // begins with the file
    const std::string text = Concat("rank ", rank, ": ", failure.substr(1));
    if (failure[0] == kEnvironment) throw Agreed<EnvironmentError>(text);
    if (failure[0] == kArgument) throw Agreed<std::invalid_argument>(text);
    throw Agreed<BackendError>(text);
  }
}

}  // namespace hockney
