#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/collectives/executor_cases.h"
#include "tests/gpu/sections.h"

// What sections are made of.
namespace hockney::testing {

inline SectionResult Skip(const std::string& reason) {
  return {.status = SectionResult::Status::kSkipped, .checks = 0, .text = reason};
}
inline SectionResult Fail(const std::string& what) {
  return {.status = SectionResult::Status::kFailed, .checks = 0, .text = what};
}
inline SectionResult Pass(int checks, const std::string& text = {}) {
  return {.status = SectionResult::Status::kPassed, .checks = checks, .text = text};
}

// Adds the checks of a part; the first that did not pass decides.
void Add(SectionResult& sum, const SectionResult& part);

// Limits with which short vectors take several pieces and slices.
DomainOptions SmallSlots(std::uint64_t first_count = 0);

std::vector<ExecutorCase> EveryRowInEveryProtocol(int ranks);

// Ranks as blocks of one launch.
SectionResult CheckSmall(const SectionOptions& options);
SectionResult CheckRows(const SectionOptions& options);
SectionResult CheckTypes(const SectionOptions& options);
SectionResult CheckCounters(const SectionOptions& options);
SectionResult CheckLong(const SectionOptions& options);
SectionResult CheckGraph(const SectionOptions& options);
SectionResult CheckLostPeer(const SectionOptions& options);

// Ranks as processes.
SectionResult CheckProcessesByIpc(const SectionOptions& options);
SectionResult CheckProcessesByFile(const SectionOptions& options);
SectionResult CheckNccl(const SectionOptions& options);

}  // namespace hockney::testing
