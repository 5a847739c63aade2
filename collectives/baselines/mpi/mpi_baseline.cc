#include "collectives/baselines/mpi/mpi_baseline.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "collectives/baselines/mpi/mpi_call.h"
#include "collectives/baselines/mpi/mpi_library.h"
#include "collectives/baselines/mpi/mpi_selection.h"
#include "collectives/executors/in_place.h"
#include "topology/check.h"

namespace hockney {
namespace {

MPI_Comm CommunicatorOf(const Session& session) {
  return *static_cast<const MPI_Comm*>(session.mpi_communicator());
}

Layout LayoutOf(const Call& call) { return {call.counts, call.type, Cut{}}; }

}  // namespace

void MpiBaseline::AllowAlgorithms() { MpiSelection::Allow(); }

MpiBaseline::MpiBaseline(const Session& session, bool chooses_algorithms) : session_(session) {
  if (session.mpi_communicator() == nullptr) {
    throw std::invalid_argument("MPI runs between processes of its launcher");
  }
  default_ = std::make_shared<MpiCommunicator>(CommunicatorOf(session));
  transport_ = ReadMpiTransport();
  if (session.ranks() > 1) no_shared_memory_ = WhyNoMpiSharedMemory(transport_);
  if (chooses_algorithms) selection_ = std::make_unique<MpiSelection>(Library());
}

MpiBaseline::~MpiBaseline() = default;

std::string MpiBaseline::Library() const { return MpiLibrary(); }

std::vector<std::string> MpiBaseline::Algorithms(Collective collective) const {
  return selection_ == nullptr ? std::vector<std::string>() : selection_->Names(collective);
}

std::string MpiBaseline::Settings(Collective collective, std::string_view algorithm) const {
  return selection_ == nullptr ? "" : selection_->Settings(collective, algorithm);
}

std::string MpiBaseline::WhyNot(const Call& call) const {
  if (!no_shared_memory_.empty()) return no_shared_memory_;
  const Layout layout = LayoutOf(call);
  return WhyNotMpiCall(call, layout, IsInPlace(call, layout, session_.rank()));
}

std::string MpiBaseline::WhyNotForced(const Call& call, const std::string& algorithm) const {
  if (selection_ == nullptr) throw std::logic_error("no algorithms are chosen here");
  const auto& counts = call.counts.counts;
  return selection_->WhyNot({.collective = call.shape.collective,
                             .ranks = call.counts.ranks,
                             .count = counts.empty() ? 0 : counts[0],
                             .element_bytes = ElementBytes(call.type)},
                            algorithm);
}

void MpiBaseline::Select(Collective collective, const std::string& algorithm) {
  if (selection_ != nullptr) selection_->Select(collective, algorithm);
}

// Open MPI's communicators keep the algorithm they were made with.
std::shared_ptr<const MpiCommunicator> MpiBaseline::CommunicatorFor(Collective collective,
                                                                    const std::string& algorithm) {
  if (algorithm.empty() || FamilyOf(Library()) != MpiFamily::kOpenMpi) return default_;
  std::shared_ptr<const MpiCommunicator>& made = forced_[{collective, algorithm}];
  if (made == nullptr) {
    selection_->Make(collective, algorithm,
                     [&] { made = std::make_shared<MpiCommunicator>(CommunicatorOf(session_)); });
  }
  return made;
}

std::unique_ptr<Prepared> MpiBaseline::Prepare(const Call& call, const std::string& algorithm) {
  const Layout layout = LayoutOf(call);
  // In place somewhere is in place everywhere: a rank without elements cannot see it by itself.
  const std::array mine{static_cast<std::byte>(IsInPlace(call, layout, session_.rank()))};
  const auto all = session_.AllGather(mine);
  const bool in_place = std::any_of(all.begin(), all.end(),
                                    [](const auto& theirs) { return theirs[0] != std::byte{0}; });
  const std::string reason = WhyNotMpiCall(call, layout, in_place);
  if (!reason.empty()) throw std::invalid_argument(reason);
  return PrepareMpiCall(call, layout, in_place, CommunicatorFor(call.shape.collective, algorithm));
}

}  // namespace hockney
