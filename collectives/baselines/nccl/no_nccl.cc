// Stands in for the NCCL baseline in builds without CUDA or nccl.h.
#include <stdexcept>

#include "collectives/baselines/nccl/nccl_baseline.h"
#include "topology/check.h"

namespace hockney {

class NcclBaseline::Communicator {};

NcclLibrary NcclLibrary::Load(const std::string& path) {
  throw EnvironmentError("no NCCL: " + path + " cannot be used, built without CUDA or nccl.h");
}
std::string NcclLibrary::version() const { return ""; }
std::string NcclHeaderVersion() { return ""; }

NcclBaseline::NcclBaseline(Session&, Device& device, const NcclLibrary&, const NcclChoice&)
    : device_(device) {}
NcclBaseline::~NcclBaseline() = default;
void NcclBaseline::Abandon() {}
std::string NcclBaseline::WhyNot(const Call&) const { return "built without CUDA or nccl.h"; }
std::unique_ptr<DeviceCall> NcclBaseline::Prepare(const Call& call) {
  throw std::invalid_argument(WhyNot(call));
}

}  // namespace hockney
