#include "topology/nvidia_topo.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "topology/input_file.h"

namespace hockney {
namespace {

struct Word {
  std::string text = {};
  TextPosition at = {};
};
using Line = std::vector<Word>;

// Returns the words of each line, without terminal colours ("\x1b[4m"), carriage returns and a byte
// order mark.
std::vector<Line> CutIntoWords(std::string_view text) {
  std::vector<Line> lines(1);
  std::size_t column = 0;
  bool in_word = false;
  for (std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < text.size(); ++i) {
    const char c = text[i];
    ++column;
    if (c == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      const std::size_t end = text.find_first_not_of("0123456789;?", i + 2);
      if (end == text.npos) break;
      column += end - i;
      i = end;
    } else if (c == '\n') {
      lines.emplace_back();
      column = 0;
      in_word = false;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      in_word = false;
    } else {
      if (!in_word) {
        lines.back().push_back({.at = {.line = lines.size(), .column = column}});
      }
      lines.back().back().text += c;
      in_word = true;
    }
  }
  return lines;
}

bool IsGpu(std::string_view name) {
  return name.size() > 3 && name.starts_with("GPU") &&
         name.find_first_not_of("0123456789", 3) == name.npos;
}

bool Holds(const Line& line, std::string_view text) {
  return std::any_of(line.begin(), line.end(), [&](const Word& word) { return word.text == text; });
}

bool IsHeader(const Line& line) {
  return !line.empty() && IsGpu(line[0].text) && !Holds(line, "X");
}

bool IsLegend(const Line& line) {
  return !line.empty() && (line[0].text.starts_with("Legend") || line.back().text == "Legend:");
}

enum class Affinity { kCpus, kNumaNode, kGpuNumaNode };

// What stands in which column.
struct Columns {
  std::vector<std::string> devices = {};
  std::vector<Affinity> affinities = {};
};

Columns ReadHeader(const Line& line) {
  Columns columns;
  std::size_t i = 0;
  while (i < line.size() && line[i].text != "CPU" && line[i].text != "NUMA" &&
         line[i].text != "GPU") {
    columns.devices.push_back(line[i++].text);
  }
  for (; i < line.size(); ++i) {
    if (line[i].text == "CPU") {
      columns.affinities.push_back(Affinity::kCpus);
    } else if (line[i].text == "GPU") {
      columns.affinities.push_back(Affinity::kGpuNumaNode);
      ++i;  // its NUMA
    } else if (line[i].text == "NUMA") {
      columns.affinities.push_back(Affinity::kNumaNode);
    }
  }
  return columns;
}

// Whether a line is a row of the matrix although the header that would tell is missing.
bool LooksLikeRow(const Line& line) {
  return line.size() > 1 && Holds(line, "X") && line[1].text != "=";
}

// Without a header the rows name the columns.
Columns GuessColumns(const std::vector<Line>& lines) {
  Columns columns{.affinities = {Affinity::kCpus, Affinity::kNumaNode, Affinity::kGpuNumaNode}};
  for (const Line& line : lines) {
    if (IsLegend(line)) break;
    if (LooksLikeRow(line)) columns.devices.push_back(line[0].text);
  }
  if (columns.devices.empty() || !IsGpu(columns.devices[0])) columns.devices.clear();
  return columns;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : lines_(CutIntoWords(text)), file_(file) {
    topology_.source = fmt::format("nvidia-smi topo -m in {}", file);
  }

  GpuTopology Read() {
    const std::size_t first_row = FindColumns();
    if (columns_.devices.empty()) {
      topology_.unknown_because = fmt::format("no matrix of GPUs in {}: {}", file_, FirstLine());
      return std::move(topology_);
    }
    for (std::size_t i = 0; i < columns_.devices.size(); ++i) AddDevice(columns_.devices[i], i);
    paths_.resize(columns_.devices.size());
    ReadRows(first_row);
    Combine();
    ShortenNotes();
    return std::move(topology_);
  }

 private:
  void ShortenNotes() {
    constexpr std::size_t kMostNotes = 8;
    std::vector<std::string>& notes = topology_.notes;
    if (notes.size() <= kMostNotes) return;
    const std::size_t more = notes.size() - kMostNotes;
    notes.resize(kMostNotes);
    notes.push_back(fmt::format("{} more like these", more));
  }

  // Sets columns_ and returns the line of the first row.
  std::size_t FindColumns() {
    const auto header = std::find_if(lines_.begin(), lines_.end(), IsHeader);
    if (header == lines_.end()) {
      columns_ = GuessColumns(lines_);
      return 0;
    }
    columns_ = ReadHeader(*header);
    return static_cast<std::size_t>(header - lines_.begin()) + 1;
  }

  std::string FirstLine() const {
    constexpr std::size_t kLongest = 200;
    std::string text;
    for (const Line& line : lines_) {
      for (const Word& word : line) text += (text.empty() ? "" : " ") + word.text;
      if (!text.empty()) return fmt::format("\"{}\"", text.substr(0, kLongest));
    }
    return "it is empty";
  }

  void AddDevice(const std::string& name, std::size_t column) {
    index_.emplace(name, column);
    if (IsGpu(name)) {
      gpu_columns_.push_back(column);
      topology_.gpus.push_back({.name = name});
    } else {
      nic_columns_.push_back(column);
      topology_.nics.push_back({.name = name});
    }
  }

  void ReadRows(std::size_t at) {
    for (; at < lines_.size(); ++at) {
      const Line& line = lines_[at];
      if (IsHeader(line) || IsLegend(line)) break;
      const auto device = line.empty() ? index_.end() : index_.find(line[0].text);
      if (device != index_.end()) ReadRow(line, device->second);
    }
    for (; at < lines_.size(); ++at) {
      const Line& line = lines_[at];
      if (IsHeader(line)) {
        topology_.notes.push_back(
            fmt::format("line {}: another matrix, which is not read", line[0].at.line));
        return;
      }
      if (line.size() == 2 && line[0].text.ends_with(':')) NameNic(line);
    }
  }

  // "NIC0: mlx5_0"
  void NameNic(const Line& line) {
    for (GpuTopology::Nic& nic : topology_.nics) {
      if (nic.name + ":" == line[0].text) nic.device = line[1].text;
    }
  }

  void ReadRow(const Line& line, std::size_t device) {
    const std::size_t devices = columns_.devices.size();
    if (line.size() <= devices) {
      FailInput(file_, line.back().at,
                fmt::format("\"{}\": expected {} paths after {}, but the row ends here",
                            line.back().text, devices, line[0].text));
    }
    if (!paths_[device].empty()) {
      FailInput(file_, line[0].at, fmt::format("\"{}\": expected one row only", line[0].text));
    }
    for (std::size_t i = 0; i < devices; ++i) ReadCell(line[1 + i], device, i);
    if (IsGpu(line[0].text)) ReadAffinities(line, device);
  }

  void ReadCell(const Word& word, std::size_t row, std::size_t column) {
    std::optional<DevicePath> path = ParseDevicePath(word.text);
    const bool is_self = path && path->level == GpuLevel::kSelf;
    if (is_self && row != column) {
      FailInput(file_, word.at,
                fmt::format("\"{}\": expected a path from {} to {}: the row is shifted", word.text,
                            columns_.devices[row], columns_.devices[column]));
    }
    if (!path && row != column) {
      topology_.notes.push_back(fmt::format("line {}: path \"{}\" from {} to {} taken as SYS",
                                            word.at.line, word.text, columns_.devices[row],
                                            columns_.devices[column]));
    }
    if (row == column) path = DevicePath{.level = GpuLevel::kSelf, .text = "X"};
    paths_[row].push_back(path.value_or(DevicePath{}));
  }

  void ReadAffinities(const Line& line, std::size_t device) {
    const auto found = std::find(gpu_columns_.begin(), gpu_columns_.end(), device);
    GpuTopology::Gpu& gpu = topology_.gpus[found - gpu_columns_.begin()];
    for (std::size_t i = 0; i < columns_.affinities.size(); ++i) {
      const std::size_t at = 1 + columns_.devices.size() + i;
      if (at >= line.size()) return;
      const std::string& text = line[at].text;
      if (text == "N/A" || text == "[N/A]") continue;
      if (columns_.affinities[i] == Affinity::kCpus) gpu.cpu_list = text;
      if (columns_.affinities[i] != Affinity::kNumaNode) continue;
      int node = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, node);
      if (error == std::errc() && stop == end && node >= 0) gpu.numa_node = node;
    }
  }

  // The path between two devices, from the row of each that is there.
  DevicePath Between(std::size_t a, std::size_t b) {
    if (a == b) return {.level = GpuLevel::kSelf, .text = "X"};
    const auto& row_a = paths_[a];
    const auto& row_b = paths_[b];
    const std::string names = fmt::format("{} and {}", columns_.devices[a], columns_.devices[b]);
    if (row_a.empty() && row_b.empty()) {
      if (a < b) topology_.notes.push_back(fmt::format("no row of {}: taken as SYS", names));
      return {};
    }
    if (row_a.empty()) return row_b[a];
    if (row_b.empty()) return row_a[b];
    const DevicePath& path = Farther(row_a[b], row_b[a]);
    if (row_a[b].text != row_b[a].text && a < b) {
      topology_.notes.push_back(fmt::format("{}: {} one way and {} the other, taken as {}", names,
                                            row_a[b].text, row_b[a].text, path.text));
    }
    return path;
  }

  void Combine() {
    for (const std::size_t gpu : gpu_columns_) {
      std::vector<DevicePath> gpus;
      for (const std::size_t other : gpu_columns_) gpus.push_back(Between(gpu, other));
      topology_.between_gpus.push_back(std::move(gpus));
      std::vector<DevicePath> nics;
      for (const std::size_t nic : nic_columns_) nics.push_back(Between(gpu, nic));
      topology_.to_nics.push_back(std::move(nics));
    }
  }

  std::vector<Line> lines_;
  std::string_view file_;
  Columns columns_ = {};
  std::map<std::string, std::size_t, std::less<>> index_ = {};
  std::vector<std::size_t> gpu_columns_ = {};
  std::vector<std::size_t> nic_columns_ = {};
  std::vector<std::vector<DevicePath>> paths_ = {};  // [row][column]; an empty row was not there
  GpuTopology topology_ = {};
};

}  // namespace

GpuTopology ParseNvidiaTopo(std::string_view text, std::string_view file) {
  return Reader(text, file).Read();
}

GpuTopology ReadNvidiaTopo(const std::string& path) {
  return ParseNvidiaTopo(ReadInputFile(path), path);
}

}  // namespace hockney
