#include "tuner/training/resnet.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "tuner/training/model_builder.h"

namespace hockney {
namespace {

constexpr std::int64_t kPixels = 224;  // of a side
constexpr std::int64_t kClasses = 1000;
constexpr std::int64_t kStemChannels = 64;

struct Convolution {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 0;
  std::int64_t pixels = 0;  // of a side of what it writes
};

class Writer {
 public:
  explicit Writer(const ResnetConfig& config)
      : config_(config), builder_(config.name, config.source) {}

  ModelDescription Write() && {
    builder_.BeginUnit("stem", false);
    AddConvolution("conv1", {3, kStemChannels, 7, kPixels / 2});
    AddNorm("bn1", kStemChannels);
    std::int64_t channels = kStemChannels;
    for (std::size_t stage = 0; stage < config_.blocks.size(); ++stage) {
      const std::int64_t width = kStemChannels << stage;
      const std::int64_t out = config_.bottleneck ? 4 * width : width;
      for (std::int64_t block = 0; block < config_.blocks[stage]; ++block) {
        // The pooling behind the stem halves the pixels, and so does each later stage.
        const std::int64_t pixels = kPixels / 4 >> stage;
        const bool halves = stage > 0 && block == 0;
        const std::string name = fmt::format("layer{}.{}", stage + 1, block);
        builder_.BeginUnit(name, true);
        WriteBlock(name, {.in = channels, .width = width, .out = out, .pixels = pixels}, halves);
        channels = out;
      }
    }
    builder_.BeginUnit("fc", false);
    Add("fc.weight", {kClasses, channels});
    Add("fc.bias", {kClasses});
    builder_.AddFlops(2 * static_cast<double>(kClasses * channels));
    return std::move(builder_).Take();
  }

 private:
  struct Block {
    std::int64_t in = 0;  // channels
    std::int64_t width = 0;
    std::int64_t out = 0;
    std::int64_t pixels = 0;  // of a side of what it writes
  };

  void WriteBlock(const std::string& name, const Block& block, bool halves) {
    const auto& [in, width, out, pixels] = block;
    if (config_.bottleneck) {
      AddConvolution(name + ".conv1", {in, width, 1, halves ? 2 * pixels : pixels});
      AddNorm(name + ".bn1", width);
      AddConvolution(name + ".conv2", {width, width, 3, pixels});
      AddNorm(name + ".bn2", width);
      AddConvolution(name + ".conv3", {width, out, 1, pixels});
      AddNorm(name + ".bn3", out);
    } else {
      AddConvolution(name + ".conv1", {in, width, 3, pixels});
      AddNorm(name + ".bn1", width);
      AddConvolution(name + ".conv2", {width, out, 3, pixels});
      AddNorm(name + ".bn2", out);
    }
    if (halves || in != out) {
      AddConvolution(name + ".downsample.0", {in, out, 1, pixels});
      AddNorm(name + ".downsample.1", out);
    }
  }

  void AddConvolution(const std::string& name, const Convolution& convolution) {
    const auto& [in, out, kernel, pixels] = convolution;
    Add(name + ".weight", {out, in, kernel, kernel});
    builder_.AddFlops(2 * static_cast<double>(out * in * kernel * kernel * pixels * pixels));
  }
  void AddNorm(const std::string& name, std::int64_t channels) {
    Add(name + ".weight", {channels});
    Add(name + ".bias", {channels});
  }
  void Add(std::string name, std::vector<std::int64_t> shape) {
    builder_.Add({.name = std::move(name), .shape = std::move(shape), .type = config_.type});
  }

  const ResnetConfig& config_;
  ModelBuilder builder_;
};

}  // namespace

ModelDescription DescribeResnet(const ResnetConfig& config) { return Writer(config).Write(); }

}  // namespace hockney
