#include "bench/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bench/choice.h"
#include "bench/sizes.h"
#include "bench/text_table.h"

namespace hockney {
namespace {

// One launch to choose on and one to report.
constexpr std::size_t kLeastLaunches = 2;

constexpr char kHead[] =
    "# hockney beside other MPI libraries and settings\n\n"
    "all_reduce of float32 sums, out of place, refreshed buffers, isolated calls. Every setting "
    "has launches of its own, in which\nthe samples of MPI and of hockney's algorithms are "
    "interleaved. A speed is MPI's time over hockney's: above 1, hockney is\nfaster. Figures are "
    "medians over launches with the bootstrap interval (95 %; of 5 launches 94 %); what is best is "
    "chosen on the "
    "launches 0, 2, 4, ...\nand reported on the others.\n\n";

constexpr char kBestHead[] =
    "\n## hockney's best choice against each setting\n\n"
    "Share: of the memory roofline, where all buffers together exceed twice the last-level "
    "cache. launches: that were reported.\n\n";

constexpr char kAlgorithmsHead[] =
    "\n## Speed of each algorithm of hockney over MPI\n\n"
    "Protocol and stores of each algorithm chosen likewise.\n\n";

using Table = std::vector<std::vector<std::string>>;

// The compared cells of one peer, by bytes.
struct PeerCells {
  const Peer* peer = nullptr;
  std::map<std::uint64_t, CellRows> by_size = {};
  std::string reason = {};  // why there are none
};

std::size_t CountLaunches(const Peer& peer) {
  std::set<std::int64_t> launches;
  for (const SweepRow& row : peer.rows) launches.insert(row.launch);
  return launches.size();
}

PeerCells FindCells(const Peer& peer) {
  PeerCells cells{.peer = &peer};
  if (peer.rows.empty()) {
    cells.reason = "not run: " + (peer.problems.empty() ? "no run folder" : peer.problems[0]);
    return cells;
  }
  const std::size_t launches = CountLaunches(peer);
  if (launches < kLeastLaunches) {
    cells.reason = fmt::format(
        "not compared: {} launch, expected at least {}: one to choose on and one to report",
        launches, kLeastLaunches);
    return cells;
  }
  for (auto& [key, cell] : GroupCells(peer.rows)) {
    const auto& [collective, ranks, oversubscribed, in_place, size] = key;
    if (collective != Collective::kAllReduce || oversubscribed || in_place) continue;
    if (cell.by_choice.contains("mpi")) cells.by_size[size] = cell;
  }
  if (cells.by_size.empty()) {
    cells.reason = "not compared: no all_reduce out of place with MPI beside it";
  }
  return cells;
}

std::string FormatFigure(const Figure& figure) {
  return figure.launches == 0 ? "-" : fmt::format("{:.2f}", figure.value);
}

std::string FormatInterval(const Figure& figure) {
  if (figure.launches == 0) return "-";
  return fmt::format("{:.2f}..{:.2f}", figure.interval.low, figure.interval.high);
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string FormatSettings(std::span<const PeerCells> all) {
  Table table = {{"setting", "library", "asked for", "transport", "ranks", "launches"}};
  for (const PeerCells& cells : all) {
    const Peer& peer = *cells.peer;
    table.push_back({peer.name, cells.reason.empty() ? peer.library : cells.reason,
                     OrDash(peer.asked_for), OrDash(peer.transport), OrDash(peer.ranks),
                     std::to_string(CountLaunches(peer))});
  }
  return FormatMarkdownTable(table);
}

std::set<std::uint64_t> FindSizes(std::span<const PeerCells> all) {
  std::set<std::uint64_t> sizes;
  for (const PeerCells& cells : all) {
    for (const auto& [size, unused] : cells.by_size) sizes.insert(size);
  }
  return sizes;
}

// What is said below the tables.
struct Notes {
  std::vector<std::string> lines = {};
  bool unsure = false;  // some interval has too few launches
};

std::string FormatBest(std::span<const PeerCells> all, Notes& notes) {
  Table table = {{"size", "setting", "choice", "speed over MPI", "interval", "share", "interval",
                  "MPI's share", "launches"}};
  for (const std::uint64_t size : FindSizes(all)) {
    for (const PeerCells& cells : all) {
      const auto found = cells.by_size.find(size);
      if (found == cells.by_size.end()) continue;
      const std::string best = ChooseBest(found->second);
      const Figure speed = best.empty() ? Figure{} : SpeedOver(found->second, best);
      if (speed.launches == 0) {
        notes.lines.push_back(fmt::format("{}, {}: left out, no launch to choose on or to report",
                                          cells.peer->name, FormatSize(size)));
        continue;
      }
      const Figure share = ShareOfRoofline(found->second, best);
      notes.unsure = notes.unsure || !speed.interval.confident;
      table.push_back({FormatSize(size), cells.peer->name, best, FormatFigure(speed),
                       FormatInterval(speed), FormatFigure(share), FormatInterval(share),
                       FormatFigure(ShareOfRoofline(found->second, "mpi")),
                       std::to_string(speed.launches)});
    }
  }
  return FormatMarkdownTable(table);
}

// The algorithm's rows and MPI's.
CellRows Restrict(const CellRows& cell, const std::string& algorithm) {
  CellRows rows;
  for (const auto& [choice, launches] : cell.by_choice) {
    if (choice == "mpi" || launches.begin()->second->algorithm == algorithm) {
      rows.by_choice[choice] = launches;
    }
  }
  return rows;
}

std::string FormatAlgorithmCell(const PeerCells& cells, std::uint64_t size,
                                const std::string& algorithm) {
  const auto found = cells.by_size.find(size);
  if (found == cells.by_size.end()) return "-";
  const CellRows rows = Restrict(found->second, algorithm);
  const std::string choice = ChooseBest(rows);
  const Figure speed = choice.empty() ? Figure{} : SpeedOver(rows, choice);
  if (speed.launches == 0) return "-";
  return fmt::format("{} ({})", FormatFigure(speed), FormatInterval(speed));
}

std::string FormatAlgorithms(std::span<const PeerCells> all) {
  Table table = {{"size", "algorithm"}};
  std::set<std::string> algorithms;
  for (const PeerCells& cells : all) {
    if (!cells.reason.empty()) continue;
    table[0].push_back(cells.peer->name);
    for (const auto& [size, cell] : cells.by_size) {
      for (const auto& [choice, launches] : cell.by_choice) {
        const SweepRow& row = *launches.begin()->second;
        if (row.implementation == "hockney") algorithms.insert(row.algorithm);
      }
    }
  }
  for (const std::uint64_t size : FindSizes(all)) {
    for (const std::string& algorithm : algorithms) {
      std::vector<std::string> line = {FormatSize(size), algorithm};
      for (const PeerCells& cells : all) {
        if (cells.reason.empty()) line.push_back(FormatAlgorithmCell(cells, size, algorithm));
      }
      table.push_back(std::move(line));
    }
  }
  return FormatMarkdownTable(table);
}

// The first problem of a peer without rows is in the table.
void NoteProblems(const Peer& peer, Notes& notes) {
  for (std::size_t i = peer.rows.empty() ? 1 : 0; i < peer.problems.size(); ++i) {
    notes.lines.push_back(fmt::format("{}: {}", peer.name, peer.problems[i]));
  }
  const auto is_bad = [](const SweepRow& row) {
    return row.status != Status::kOk && row.status != Status::kSkipped;
  };
  const auto bad = std::count_if(peer.rows.begin(), peer.rows.end(), is_bad);
  if (bad == 0) return;
  const SweepRow& first = *std::find_if(peer.rows.begin(), peer.rows.end(), is_bad);
  notes.lines.push_back(
      fmt::format("{}: {} of {} rows left out, first {} {} at {} in launch {}: {}: {}", peer.name,
                  bad, peer.rows.size(), first.implementation, first.algorithm,
                  FormatSize(first.size_bytes), first.launch, Name(first.status), first.reason));
}

std::string FormatMachines(std::span<const Peer> peers) {
  std::set<std::string> machines;
  for (const Peer& peer : peers) {
    if (!peer.machine.empty()) machines.insert(peer.machine);
  }
  return machines.empty() ? "" : fmt::format("{}\n\n", fmt::join(machines, "\n\n"));
}

}  // namespace

PeerReport ReportPeers(std::span<const Peer> peers) {
  std::vector<PeerCells> all;
  for (const Peer& peer : peers) all.push_back(FindCells(peer));
  PeerReport report{.text = kHead + FormatMachines(peers) + FormatSettings(all)};
  report.peers_compared = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const PeerCells& cells) { return cells.reason.empty(); }));
  Notes notes;
  if (report.peers_compared > 0) {
    report.text += kBestHead + FormatBest(all, notes);
    report.text += kAlgorithmsHead + FormatAlgorithms(all);
  }
  if (notes.unsure) {
    notes.lines.insert(notes.lines.begin(), "intervals of fewer than 5 launches are not of 95 %");
  }
  for (const Peer& peer : peers) NoteProblems(peer, notes);
  if (!notes.lines.empty()) report.text += "\n";
  for (const std::string& line : notes.lines) report.text += fmt::format("- {}\n", line);
  return report;
}

}  // namespace hockney
