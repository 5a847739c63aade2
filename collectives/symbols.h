#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

// The symbols and clocks that the verifier computes with.
namespace hockney {

// Interned sets of ranks; a set is named by a small number.
class RankSets {
 public:
  static constexpr int kOverlap = -1;

  explicit RankSets(int ranks);
  int Single(int rank) const { return rank; }
  int All() const { return all_; }
  // The union, or kOverlap when a rank is in both.
  int Join(int a, int b);
  int Size(int set) const { return sizes_[set]; }

 private:
  int Intern(std::vector<std::uint64_t> bits);

  int all_ = 0;
  std::vector<std::vector<std::uint64_t>> sets_;
  std::vector<int> sizes_;
  std::map<std::vector<std::uint64_t>, int> names_;
  std::map<std::pair<int, int>, int> joins_;
};

// What a slice of a chunk holds: the sum over `set` of input slice `origin` of call `call`. Origin
// -1: nothing yet.
struct Symbol {
  std::int64_t origin = -1;
  std::int32_t set = -1;
  std::int32_t call = -1;
  bool final = false;
  bool operator==(const Symbol&) const = default;
};

// Everything a thread did up to a point, as others may learn of it.
struct Snapshot {
  int thread = 0;
  std::vector<std::uint32_t> times;  // by thread
};
using Released = std::shared_ptr<const Snapshot>;

// Vector clocks of a fixed number of threads. A thread's own time moves on with every release.
class Clocks {
 public:
  explicit Clocks(int threads);
  // Everything `thread` did so far, to be handed to whoever acquires it. Releases with nothing in
  // between share a snapshot.
  Released Release(int thread);
  void Acquire(int thread, const Released& released);
  // Notes that `thread` does something at the time returned.
  std::uint32_t Touch(int thread) {
    latest_[thread].reset();
    return clocks_[thread][thread];
  }
  // Whether `thread` knows all that `other` did up to `time`.
  bool Knows(int thread, int other, std::uint32_t time) const {
    return clocks_[thread][other] >= time;
  }

 private:
  std::vector<std::vector<std::uint32_t>> clocks_;
  std::vector<Released> latest_;  // the last release of a thread, while nothing happened since
};

// One slice of one chunk of a buffer, with the accesses a later one could race with.
struct Cell {
  struct Access {
    std::int32_t thread = -1;
    std::uint32_t time = 0;
  };
  Symbol symbol;
  Access write;
  std::vector<Access> reads;  // since the last write, one a thread

  // Each notes the access and returns the thread it races with, or -1.
  int Read(Clocks& clocks, int thread);
  int Write(Clocks& clocks, int thread);
};

}  // namespace hockney
