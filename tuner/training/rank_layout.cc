#include "tuner/training/rank_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <stdexcept>

#include "tuner/training/pipeline_schedule.h"

namespace hockney {
namespace {

struct NamedDegree {
  std::string_view name;
  std::int64_t ParallelDegrees::*degree;
};
constexpr NamedDegree kDegrees[] = {{"tp", &ParallelDegrees::tp}, {"cp", &ParallelDegrees::cp},
                                    {"dp", &ParallelDegrees::dp}, {"pp", &ParallelDegrees::pp},
                                    {"ep", &ParallelDegrees::ep}, {"etp", &ParallelDegrees::etp}};

// The product, or the largest number where that is more than 64 bits hold.
std::int64_t Product(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    product = factor > kMost / product ? kMost : product * factor;
  }
  return product;
}

std::int64_t ExpertTensor(const ParallelDegrees& degrees) {
  return degrees.etp == 0 ? degrees.tp : degrees.etp;
}

std::int64_t RanksOfStage(const ParallelDegrees& degrees) {
  return Product({degrees.tp, degrees.cp, degrees.dp});
}

// A degree that is not named is 0 here.
ParallelDegrees ReadDegrees(std::string_view text) {
  ParallelDegrees degrees{0, 0, 0, 0, 0, 0};
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const NamedDegree* found = nullptr;
    for (const NamedDegree& named : kDegrees) {
      if (named.name == entry.substr(0, equals)) found = &named;
    }
    std::int64_t value = 0;
    const char* const end = entry.data() + entry.size();
    const char* const number = entry.data() + std::min(equals + 1, entry.size());
    const auto [stop, error] = std::from_chars(number, end, value);
    if (found == nullptr || error != std::errc() || stop != end || value < 1) {
      throw std::invalid_argument(fmt::format(
          "\"{}\": expected tp, cp, dp, pp, ep or etp with a whole number from 1, as in tp=2,pp=4",
          entry));
    }
    std::int64_t& degree = degrees.*(found->degree);
    if (degree != 0) {
      throw std::invalid_argument(
          fmt::format("\"{}\": {} given twice, expected once", entry, found->name));
    }
    degree = value;
  }
  return degrees;
}

void CheckRank(const ParallelDegrees& degrees, std::int64_t rank) {
  if (rank < 0 || rank >= RanksOfWorld(degrees)) {
    throw std::invalid_argument(
        fmt::format("rank {}, expected one of {}", rank, RanksOfWorld(degrees)));
  }
}

}  // namespace

ParallelDegrees ParseDegrees(std::string_view text, std::int64_t ranks) {
  ParallelDegrees degrees = ReadDegrees(text);
  for (std::int64_t* degree : {&degrees.tp, &degrees.cp, &degrees.pp, &degrees.ep}) {
    if (*degree == 0) *degree = 1;
  }
  const auto refuse = [&](const std::string& reason) {
    throw std::invalid_argument(fmt::format("\"{}\": {}", text, reason));
  };
  if (degrees.dp == 0) {
    const std::int64_t replica = RanksOfReplica(degrees);
    if (ranks < 1 || ranks % replica != 0) {
      refuse(fmt::format("{} ranks are not a multiple of tp {} x cp {} x pp {} = {}", ranks,
                         degrees.tp, degrees.cp, degrees.pp, replica));
    }
    degrees.dp = ranks / replica;
  }
  if (RanksOfWorld(degrees) != ranks) {
    refuse(fmt::format("tp {} x cp {} x dp {} x pp {} = {} ranks, expected the {} there are",
                       degrees.tp, degrees.cp, degrees.dp, degrees.pp, RanksOfWorld(degrees),
                       ranks));
  }
  const std::int64_t expert = Product({ExpertTensor(degrees), degrees.ep});
  if (RanksOfStage(degrees) % expert != 0) {
    refuse(
        fmt::format("the {} ranks of a stage (tp {} x cp {} x dp {}) are not a multiple of etp "
                    "{} x ep {} = {}",
                    RanksOfStage(degrees), degrees.tp, degrees.cp, degrees.dp,
                    ExpertTensor(degrees), degrees.ep, expert));
  }
  return degrees;
}

std::string Text(const ParallelDegrees& degrees) {
  std::string dense =
      fmt::format("tp={},cp={},dp={},pp={}", degrees.tp, degrees.cp, degrees.dp, degrees.pp);
  if (degrees.ep == 1) return dense;
  return fmt::format("{},ep={},etp={}", dense, degrees.ep, ExpertTensor(degrees));
}

std::int64_t RanksOfWorld(const ParallelDegrees& degrees) {
  return Product({degrees.tp, degrees.cp, degrees.dp, degrees.pp});
}

std::int64_t RanksOfReplica(const ParallelDegrees& degrees) {
  return Product({degrees.tp, degrees.cp, degrees.pp});
}

LayoutPlace PlaceOf(const ParallelDegrees& degrees, std::int64_t rank) {
  CheckRank(degrees, rank);
  return {rank % degrees.tp, rank / degrees.tp % degrees.cp,
          rank / (degrees.tp * degrees.cp) % degrees.dp, rank / RanksOfStage(degrees),
          rank / ExpertTensor(degrees) % degrees.ep};
}

StridedGroup GroupOf(const ParallelDegrees& degrees, ParallelDimension dimension,
                     std::int64_t rank) {
  CheckRank(degrees, rank);
  const auto [tp, cp, dp, pp, ep, unused] = degrees;
  const std::int64_t etp = ExpertTensor(degrees);
  const auto group = [rank](std::int64_t stride, std::int64_t size) {
    return StridedGroup{rank - rank / stride % size * stride, stride, size};
  };
  switch (dimension) {
    case ParallelDimension::kTensor:
      return group(1, tp);
    case ParallelDimension::kContext:
      return group(tp, cp);
    case ParallelDimension::kData:
      return group(tp * cp, dp);
    case ParallelDimension::kPipeline:
      return group(RanksOfStage(degrees), pp);
    case ParallelDimension::kDataContext:
      return group(tp, cp * dp);
    case ParallelDimension::kExpert:
      return group(etp, ep);
    case ParallelDimension::kExpertTensor:
      return group(1, etp);
    case ParallelDimension::kExpertData:
      return group(etp * ep, RanksOfStage(degrees) / (etp * ep));
  }
  throw std::invalid_argument(fmt::format("dimension {}", static_cast<int>(dimension)));
}

std::vector<std::int64_t> Members(const StridedGroup& group) {
  std::vector<std::int64_t> members;
  for (std::int64_t i = 0; i < group.size; ++i) members.push_back(group.first + i * group.stride);
  return members;
}

std::string WhyNotSplit(const ParallelDegrees& degrees, const TransformerShape& shape,
                        std::int64_t tokens, std::int64_t chunks) {
  const auto [tp, cp, dp, pp, ep, unused] = degrees;
  std::vector<std::string> reasons;
  const auto check = [&](std::int64_t number, std::string_view what, std::int64_t by,
                         const std::string& whose) {
    if (number % by == 0) return;
    reasons.push_back(fmt::format("{} {} are not a multiple of {}", number, what, whose));
  };
  check(shape.heads, "heads", tp, fmt::format("tp {}", tp));
  if (shape.key_value_heads > 0 && tp % shape.key_value_heads != 0) {
    check(shape.key_value_heads, "key-value heads", tp, fmt::format("tp {}, nor a divisor", tp));
  }
  check(shape.hidden, "columns of the hidden size", tp, fmt::format("tp {}", tp));
  const std::int64_t of_block = shape.experts > 0 ? ExpertTensor(degrees) : tp;
  check(shape.feed_forward, "columns of the feed-forward size", of_block,
        fmt::format("{} {}", shape.experts > 0 ? "etp" : "tp", of_block));
  if (cp > 1) check(tokens, "tokens", 2 * cp, fmt::format("2 x cp {}", cp));
  if (tp > 1) check(tokens, "tokens", cp * tp, fmt::format("cp {} x tp {}", cp, tp));
  if (const std::string reason = WhyNotStaged(shape.layers, pp * chunks); !reason.empty()) {
    reasons.push_back(reason);
  }
  if (ep > 1 && shape.experts == 0) {
    reasons.push_back(fmt::format("ep {} for a dense model, which has no experts", ep));
  }
  check(shape.experts, "experts", ep, fmt::format("ep {}", ep));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace hockney
