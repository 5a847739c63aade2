// libnccl-tuner-hockney.so: NCCL asks it which algorithm and protocol to take, and it answers from
// the rule file that NCCL_TUNER_CONFIG_FILE names. What it answers depends on the function, the
// bytes, the operations of a group, the ranks and the nodes alone, which are equal on all ranks.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/plugin/nccl_rules.h"
#include "tuner/plugin/tuner_abi.h"

namespace hockney {
namespace {

namespace abi = tuner_abi;

// One communicator's. Only init writes it, so that any number of threads may ask.
struct Context {
  std::vector<NcclRule> rules = {};
  std::array<bool, abi::kFunctions.size()> has_rules = {};
};

// Says it by NCCL's logger, which prefixes host, process and rank.
void Say(abi::Logger logger, int level, unsigned long subsystems, const std::string& text) {
  if (logger != nullptr) {
    logger(level, subsystems, "nccl_tuner.cc", 0, "%s", text.c_str());
  } else if (level == abi::kWarn) {
    static_cast<void>(std::fprintf(stderr, "%s\n", text.c_str()));
  }
}

void Warn(abi::Logger logger, const std::string& cause) {
  Say(logger, abi::kWarn, abi::kSubsystemInit | abi::kSubsystemTuning,
      std::string("hockney tuner " HOCKNEY_VERSION ": no rules, NCCL chooses by itself: ") + cause);
}

// A file that is not right as a whole gives no rule: half of one would be a rule that nobody wrote.
std::vector<NcclRule> ReadRules(std::size_t ranks, std::size_t nodes, abi::Logger logger) {
  const char* const path = std::getenv("NCCL_TUNER_CONFIG_FILE");
  if (path == nullptr || *path == '\0') {
    Warn(logger, "NCCL_TUNER_CONFIG_FILE is not set: expected the path of a rule file");
    return {};
  }
  const std::string text = ReadNcclRuleFile(path);
  const std::vector<NcclRule> all = ParseNcclRules(text, path);
  std::vector<NcclRule> rules = NcclRulesFor(all, ranks, nodes);
  Say(logger, abi::kInfo, abi::kSubsystemInit | abi::kSubsystemTuning,
      std::string("hockney tuner " HOCKNEY_VERSION ": ") + path + ", hash " +
          HashOfNcclRules(text) + ": " + std::to_string(rules.size()) + " of " +
          std::to_string(all.size()) + " rules count for " + std::to_string(ranks) + " ranks on " +
          std::to_string(nodes) + " nodes");
  return rules;
}

std::unique_ptr<Context> MakeContext(std::size_t ranks, std::size_t nodes, abi::Logger logger) {
  auto context = std::make_unique<Context>();
  try {
    context->rules = ReadRules(ranks, nodes, logger);
  } catch (const std::exception& error) {
    Warn(logger, error.what());
  }
  for (const NcclRule& rule : context->rules) context->has_rules[rule.function] = true;
  return context;
}

// No failure leaves: NCCL would end the communicator for want of a rule.
int Init(std::size_t ranks, std::size_t nodes, abi::Logger logger, void** context) noexcept {
  if (context == nullptr) return abi::kSuccess;
  *context = nullptr;
  try {
    *context = MakeContext(ranks, nodes, logger).release();
  } catch (...) {  // no memory, not even for a message
  }
  return abi::kSuccess;
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
int InitV5(void** context, std::uint64_t /*communicator*/, std::size_t ranks, std::size_t nodes,
           abi::Logger logger, void* /*domains*/, void* /*constants*/) noexcept {
  return Init(ranks, nodes, logger, context);
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
int GetCollInfo(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                int algorithms, int protocols, int /*registered*/, int* channels) noexcept {
  if (context == nullptr || costs == nullptr) return abi::kSuccess;
  const auto& mine = *static_cast<const Context*>(context);
  if (function < 0 || function >= static_cast<int>(abi::kFunctions.size())) return abi::kSuccess;
  if (!mine.has_rules[function]) return abi::kSuccess;
  const NcclRule* const rule = FindNcclRule(mine.rules, function, bytes, pipe_ops);
  if (rule == nullptr) return abi::kSuccess;
  if (rule->algorithm >= algorithms || rule->protocol >= protocols) return abi::kSuccess;
  // The pointer's type is of old: what it points to is the flat table itself.
  float& cost = reinterpret_cast<float*>(costs)[rule->algorithm * protocols + rule->protocol];
  if (!(cost >= 0)) return abi::kSuccess;  // NCCL cannot do it here
  cost = 0;
  if (rule->channels != NcclRule::kAny && channels != nullptr) *channels = rule->channels;
  return abi::kSuccess;
}

int Finalize(void* context) noexcept {
  const std::unique_ptr<Context> mine(static_cast<Context*>(context));
  return abi::kSuccess;
}

}  // namespace
}  // namespace hockney

// NOLINTBEGIN(readability-identifier-naming): the names that NCCL looks for
extern "C" {
[[gnu::visibility("default")]] extern const hockney::tuner_abi::PluginV5 ncclTunerPlugin_v5;
[[gnu::visibility("default")]] extern const hockney::tuner_abi::PluginV4 ncclTunerPlugin_v4;
const hockney::tuner_abi::PluginV5 ncclTunerPlugin_v5 = {"hockney", hockney::InitV5,
                                                         hockney::GetCollInfo, hockney::Finalize};
const hockney::tuner_abi::PluginV4 ncclTunerPlugin_v4 = {"hockney", hockney::Init,
                                                         hockney::GetCollInfo, hockney::Finalize};
}
// NOLINTEND(readability-identifier-naming)
