#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/flow.h"
#include "collectives/layout.h"
#include "tuner/simulate/event_queue.h"
#include "tuner/simulate/wires.h"

namespace hockney {

// Why a slice began when it did.
enum class SimCause : std::uint8_t { kStart, kOwnLane, kMessage, kCredit, kToken };

// One slice of a step of a lane, for traces and critical paths.
struct SliceRecord {
  std::uint32_t lane = 0;  // of Wires::lanes
  std::int16_t step = 0;
  std::int32_t slice = 0;
  double begin_seconds = 0;
  double end_seconds = 0;
  SimCause cause = SimCause::kStart;
  std::uint32_t after = kNoRecord;  // the record that it waited for last
};

// How a call is worked off, as executors get it from ChooseFlow.
struct SimCall {
  const Layout* layout = nullptr;
  Flow flow{};
  Protocol protocol = Protocol::kSimple;
  std::size_t slice_bytes = 0;
  // Bytes of every chunk where all count as equal, which they must where ranks stand for others;
  // 0: as the layout says.
  std::size_t even_chunk_bytes = 0;
  // Pieces that are simulated, and all there are: the last one simulated is the last of all.
  int pieces = 1;
  int all_pieces = 1;
};

struct EngineResult {
  double seconds = 0;
  std::uint64_t slices = 0;
  std::uint64_t events = 0;
  std::uint64_t solves = 0;
  std::array<double, kSimLevels> bytes{};  // sent over each level, by all ranks
  std::array<double, kSimLevels> messages{};
  // By piece and lane, when the lane was through with the piece; and what all buckets then held
  // when the last lane was.
  std::vector<std::vector<double>> piece_ends = {};
  std::vector<std::vector<double>> bucket_bytes = {};
  std::vector<std::array<double, kSimLevels>> piece_bytes = {};  // of each piece
  std::vector<double> end_buckets = {};                          // what they hold in the end
};

// Lets all lanes of the representatives run through the machine, in order of time. Lanes do the
// steps of their programs as the interpreter of executors does; what a slice costs is SimMachine's.
class SimEngine {
 public:
  // `codes` are all ranks'. All arguments outlive the engine. `records`, if given, gets every
  // slice.
  SimEngine(const SimMachine& machine, const ResourceMap& map, const std::vector<RankCode>& codes,
            const RankClasses& classes, const SimCall& call);
  void RecordInto(std::vector<SliceRecord>* records) { records_ = records; }

  // `buckets` as FlowNetwork has them. Throws std::logic_error if lanes wait for each other for
  // ever.
  EngineResult Run(std::span<const double> buckets);

 private:
  // In the owner of a flow: it is a lane, not a wire.
  static constexpr std::uint32_t kLaneFlow = 0x80000000;
  enum class Happening : std::uint32_t { kStart, kDone, kWire, kFlow, kDrain };
  struct LaneRun {
    const LaneCode* code = nullptr;
    const RankCode* rank = nullptr;
    const LanePorts* ports = nullptr;
    RankGroup group{};
    std::int16_t step = 0;
    std::int32_t slice = 0;
    LoopCounters at{};
    bool waited = false;  // the waits of this step are taken
    bool done = false;
    std::int32_t piece_place = -1;  // among the lanes that work pieces off
    std::uint16_t pending = 0;      // flows of the slice that are under way
    double free_seconds = 0;
    double busy_until = 0;
    std::size_t bytes = 0;  // of the slice that runs
    std::uint32_t record = kNoRecord;
  };
  struct Found {  // the latest of what a slice waits for
    double seconds = 0;
    SimCause cause = SimCause::kStart;
    std::uint32_t record = kNoRecord;
    void Later(double when, SimCause why, std::uint32_t what) {
      if (when <= seconds) return;
      seconds = when;
      cause = why;
      record = what;
    }
  };

  void Push(double seconds, Happening kind, std::uint32_t target, std::uint32_t version = 0);
  void PushDues();
  void StartFlow(std::uint32_t owner, double bytes, double cap, const FlowPath& path);
  void Handle(const SimEvent& event);

  template <class Visit>
  bool ForEachWire(std::uint32_t lane, bool source, Visit visit);
  template <class Visit>
  bool ForEachTokenWire(std::uint32_t index, const Event& event, bool in, Visit visit);
  void Evaluate(std::uint32_t lane);
  bool FindTokens(std::uint32_t lane, Found& found);
  bool FindFifos(std::uint32_t lane, Found& found);
  void Start(std::uint32_t lane);
  double TouchPeers(std::uint32_t lane, const Operand& operand, bool source);
  double StartSends(std::uint32_t lane);
  double StartWork(std::uint32_t lane, const Step& step);
  void Complete(std::uint32_t lane);
  void Post(std::uint32_t lane, const Step& step);
  void NextStep(std::uint32_t lane);
  void PieceEnded(std::uint32_t lane, int piece);
  std::vector<double> Buckets() const;

  void CountBytes(std::uint32_t lane, SimLevel level, double bytes);
  void Send(std::uint32_t wire, double bytes);
  void SendNext(std::uint32_t wire);
  void Arrive(std::uint32_t wire, double seconds);

  std::size_t OwnBytes(const LaneRun& lane, const Operand& operand) const;
  double WorkSeconds(const LaneRun& lane, const Step& step, std::size_t bytes) const;
  int SourcesOf(const LaneRun& lane, const Step& step) const;
  LoopCounters Counters(const LaneRun& lane) const;
  std::size_t Slot(std::uint32_t wire, std::uint32_t message) const {
    return static_cast<std::size_t>(wire) * slots_ + message % slots_;
  }

  const SimMachine& machine_;
  const ResourceMap& map_;
  const SimCall& call_;
  Wires wires_;
  std::uint32_t slots_;
  int ranks_ = 1;
  std::vector<LaneRun> lanes_;
  FlowNetwork network_;
  EventQueue queue_;
  std::vector<FlowNetwork::Due> dues_;
  std::vector<std::uint32_t> owner_of_flow_;  // wire, or lane with kLaneFlow set
  double now_ = 0;
  // By slot of a wire.
  std::vector<double> arrival_;
  std::vector<double> bytes_;
  std::vector<double> credit_;
  std::vector<std::uint32_t> sent_by_;
  std::vector<std::uint32_t> read_by_;
  std::vector<SliceRecord>* records_ = nullptr;
  EngineResult result_;
  std::size_t piece_lanes_ = 0;             // lanes that work pieces off
  std::vector<std::size_t> lanes_through_;  // by piece
  std::vector<std::int32_t> bucket_resources_;
};

}  // namespace hockney
