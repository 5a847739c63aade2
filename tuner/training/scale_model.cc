#include "tuner/training/scale_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "topology/check.h"

namespace hockney {
namespace {

constexpr std::array<std::string_view, 7> kKeys = {"layers",   "hidden", "ffn",    "heads",
                                                   "kv_heads", "vocab",  "experts"};
constexpr std::int64_t kMost = std::int64_t{1} << 26;

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

class Scaler {
 public:
  Scaler(const TransformerConfig& config, std::string_view scale)
      : before_(config), config_(config), scale_(Trimmed(scale)) {
    std::string_view rest = scale_;
    while (true) {
      const std::size_t comma = rest.find(',');
      Read(rest.substr(0, comma));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }

  TransformerConfig Scale() && {
    config_.name = fmt::format("{} ({})", before_.name, scale_);
    config_.layers = Value("layers", before_.layers);
    config_.vocabulary = Value("vocab", before_.vocabulary);
    config_.hidden = Value("hidden", before_.hidden);
    config_.feed_forward = Value("ffn", WithHidden(before_.feed_forward));
    if (config_.latent) {
      ScaleLatentHeads();
    } else {
      ScaleHeads();
    }
    ScaleKeyValueHeads();
    ScaleExperts();
    return std::move(config_);
  }

 private:
  void Read(std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) Fail(part, "expected key=value,...");
    const std::string_view key = Trimmed(part.substr(0, equals));
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      Fail(key, fmt::format("expected one of {}", fmt::join(kKeys, ", ")));
    }
    const std::string_view text = Trimmed(part.substr(equals + 1));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMost) {
      Fail(part, fmt::format("expected a whole number from 1 to {}", kMost));
    }
    if (!values_.emplace(key, value).second) Fail(part, "expected each key once");
  }

  [[noreturn]] void Fail(std::string_view text, std::string_view message) const {
    throw InputError(fmt::format("scale \"{}\": \"{}\": {}", scale_, Trimmed(text), message));
  }
  [[noreturn]] void FailKey(const std::string& key, std::string_view message) const {
    Fail(fmt::format("{}={}", key, values_.at(key)), message);
  }

  bool Given(const std::string& key) const { return values_.contains(key); }
  std::int64_t Value(const std::string& key, std::int64_t otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }

  // Rounded, at least 1. In doubles, since mistaken sizes may multiply beyond 2^63.
  static std::int64_t InRatio(std::int64_t size, std::int64_t to, std::int64_t from) {
    const double exact =
        static_cast<double>(size) * static_cast<double>(to) / static_cast<double>(from);
    return std::max<std::int64_t>(1, std::llround(exact));
  }
  std::int64_t WithHidden(std::int64_t size) const {
    return InRatio(size, config_.hidden, before_.hidden);
  }

  void ScaleHeads() {
    const std::int64_t width = WithHidden(before_.heads * before_.head_size);
    if (Given("heads")) {
      config_.heads = Value("heads", 1);
      if (width % config_.heads != 0) {
        FailKey("heads", fmt::format("expected a divisor of {}, the width of all heads", width));
      }
      config_.head_size = width / config_.heads;
    } else if (width % before_.head_size != 0) {
      FailKey("hidden", fmt::format("expected whole heads of {}, or a number of heads as well",
                                    before_.head_size));
    } else {
      config_.heads = width / before_.head_size;
    }
  }

  void ScaleLatentHeads() {
    config_.heads = Value("heads", WithHidden(before_.heads));
    if (!Given("heads") && config_.heads * before_.hidden != before_.heads * config_.hidden) {
      FailKey("hidden", fmt::format("expected a multiple of {}, or a number of heads as well",
                                    before_.hidden / std::gcd(before_.hidden, before_.heads)));
    }
    TransformerConfig::Latent& latent = *config_.latent;
    if (latent.query_rank > 0) latent.query_rank = WithHidden(latent.query_rank);
    latent.key_value_rank = WithHidden(latent.key_value_rank);
  }

  void ScaleKeyValueHeads() {
    const bool grouped = !config_.latent && config_.family != TransformerFamily::kGpt2;
    if (Given("kv_heads")) {
      if (!grouped) {
        FailKey("kv_heads", "expected no kv_heads: this model has keys and values for every head");
      }
      config_.key_value_heads = Value("kv_heads", 1);
      if (config_.heads % config_.key_value_heads != 0) {
        FailKey("kv_heads", fmt::format("expected a divisor of {}, the heads", config_.heads));
      }
      return;
    }
    config_.key_value_heads =
        std::max<std::int64_t>(1, before_.key_value_heads * config_.heads / before_.heads);
    while (config_.heads % config_.key_value_heads != 0) --config_.key_value_heads;
  }

  void ScaleExperts() {
    if (!config_.experts) {
      if (Given("experts")) FailKey("experts", "expected no experts: this model has none");
      return;
    }
    TransformerConfig::Experts& experts = *config_.experts;
    experts.routed = Value("experts", experts.routed);
    experts.per_token = std::min(experts.per_token, experts.routed);
    experts.feed_forward =
        InRatio(experts.feed_forward, config_.feed_forward, before_.feed_forward);
    experts.dense_layers = std::min(experts.dense_layers, config_.layers - 1);
  }

  const TransformerConfig& before_;
  TransformerConfig config_;
  std::string_view scale_;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace

TransformerConfig ScaleModel(const TransformerConfig& config, std::string_view scale) {
  return Scaler(config, scale).Scale();
}

}  // namespace hockney
