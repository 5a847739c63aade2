#include "bench/training/step_devices.h"

#include <nlohmann/json.hpp>

#include "bench/device/gdr.h"
#include "bench/json_values.h"
#include "topology/agree.h"

namespace hockney {

StepDevices::StepDevices(Session& session, Session& local, const DeviceSource& source)
    : communicating_(session, local, source) {
  RunOnAllOrThrow(session, [&] { computing_ = communicating_.OpenAgain(source); });
}

void StepDevices::ChoosePath(Session& session, const UcxWire& wire) {
  why_no_gdr_ = FirstWhyNoGdr(session, communicating_.device(), wire);
  path_ = why_no_gdr_.empty() ? ProxyPath::kDirect : ProxyPath::kStaged;
}

void StepDevices::AddFacts(Session& session, nlohmann::ordered_json* run) const {
  (*run)["devices"] = communicating_.Facts(session);
  (*run)["ranks_on_device"] = communicating_.ranks_on_device();
  (*run)["no_gdr_because"] = TextOrNull(why_no_gdr_);
}

}  // namespace hockney
