#include "topology/hostlist.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>

namespace hockney {
namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 20;

class Expansion {
 public:
  explicit Expansion(std::string_view text) : text_(text) {}

  std::vector<std::string> Run() {
    while (true) {
      ExpandOne();
      if (at_ == text_.size()) return std::move(names_);
      ++at_;  // the comma
    }
  }

 private:
  [[noreturn]] void Fail(std::string_view what) const {
    throw HostlistError(fmt::format("\"{}\": expected {}", text_, what), at_);
  }

  bool Sees(char wanted) const { return at_ < text_.size() && text_[at_] == wanted; }

  // One entry, up to a comma outside brackets or the end.
  void ExpandOne() {
    std::vector<std::string> names = {""};
    const std::size_t begin = at_;
    while (at_ < text_.size() && !Sees(',')) {
      if (Sees(']')) Fail("no ] without its [");
      const std::vector<std::string> parts =
          Sees('[') ? ReadBrackets() : std::vector<std::string>{std::string(1, text_[at_++])};
      names = Join(names, parts);
    }
    if (at_ == begin) Fail("a name");
    if (names_.size() + names.size() > kMostNames) Fail("at most 1048576 names");
    names_.insert(names_.end(), names.begin(), names.end());
  }

  std::vector<std::string> Join(const std::vector<std::string>& fronts,
                                const std::vector<std::string>& backs) const {
    if (fronts.size() > kMostNames / backs.size()) Fail("at most 1048576 names");
    std::vector<std::string> joined;
    joined.reserve(fronts.size() * backs.size());
    for (const std::string& front : fronts) {
      for (const std::string& back : backs) joined.push_back(front + back);
    }
    return joined;
  }

  std::vector<std::string> ReadBrackets() {
    std::vector<std::string> numbers;
    do {
      ++at_;  // [ or the comma
      ReadRange(&numbers);
    } while (Sees(','));
    if (!Sees(']')) Fail("a number, a range such as 1-4, or ]");
    ++at_;
    return numbers;
  }

  void ReadRange(std::vector<std::string>* numbers) {
    const std::size_t begin = at_;
    const std::uint64_t first = ReadNumber();
    const std::size_t width = at_ - begin;
    std::uint64_t last = first;
    if (Sees('-')) {
      ++at_;
      last = ReadNumber();
    }
    if (last < first) Fail("a range that does not run backwards");
    if (last - first >= kMostNames - numbers->size()) Fail("at most 1048576 names");
    for (std::uint64_t i = first; i <= last; ++i) {
      numbers->push_back(fmt::format("{:0{}}", i, width));
    }
  }

  std::uint64_t ReadNumber() {
    std::uint64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc() || number > (std::uint64_t{1} << 62)) Fail("a number");
    at_ += static_cast<std::size_t>(end - begin);
    return number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> names_ = {};
};

}  // namespace

std::vector<std::string> ExpandHostlist(std::string_view text) { return Expansion(text).Run(); }

}  // namespace hockney
