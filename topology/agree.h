#pragma once

#include <functional>

namespace hockney {

class Session;

// Runs `step`, which may fail on some ranks only, and throws on all ranks if it failed on any: the
// others would otherwise wait for the failed one until their deadline. Every rank throws the
// failure of the first failed rank, as EnvironmentError, InputError or std::invalid_argument if it
// was one, else as BackendError, marked as Agreed. A TimeoutError passes at once, since no rank
// could be told. `step` makes no collective call. Collective.
void RunOnAllOrThrow(Session& session, const std::function<void()>& step);

}  // namespace hockney
