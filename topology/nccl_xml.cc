#include "topology/nccl_xml.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "topology/input_file.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

std::optional<int> ToInt(const pugi::xml_attribute& attribute) {
  const std::string_view text = attribute.value();
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

// "00000000,0000ffff": groups of 32 CPUs, the last group first.
std::string CpuListOf(std::string_view mask) {
  std::vector<int> cpus;
  int first = 0;  // of the digit
  for (auto digit = mask.rbegin(); digit != mask.rend(); ++digit) {
    if (*digit == ',') continue;
    int bits = 0;
    if (std::from_chars(&*digit, &*digit + 1, bits, 16).ec != std::errc()) return "";
    for (int bit = 0; bit < 4; ++bit) {
      if ((bits >> bit & 1) != 0) cpus.push_back(first + bit);
    }
    first += 4;
  }
  return FormatCpuList(cpus);
}

bool HasClass(const pugi::xml_node& pci, std::string_view digits) {
  const std::string_view text = pci.attribute("class").value();
  return text.starts_with("0x") && text.substr(2).starts_with(digits);
}

constexpr std::string_view kSwitchClass = "0x068000";  // NVSwitch

// GPUs' own links of one kind.
struct OwnLinks {
  std::map<std::string, int> to_device = {};  // by bus id
  int to_switches = 0;
  bool xgmi = false;
};

// A device with what stands around it in the file.
struct Device {
  std::vector<pugi::xml_node> pci = {};  // from the CPU down, without the device's own
  pugi::xml_node cpu = {};
};
struct GpuDevice {
  GpuTopology::Gpu gpu = {};
  std::optional<int> number = {};  // dev
  Device at = {};
  OwnLinks links = {};
};
struct NicDevice {
  GpuTopology::Nic nic = {};
  Device at = {};
};

OwnLinks ReadLinks(const pugi::xml_node& gpu) {
  OwnLinks links;
  for (const pugi::xml_node& link : gpu.children()) {
    const std::string_view kind = link.name();
    if (kind != "nvlink" && kind != "xgmi") continue;
    links.xgmi = links.xgmi || kind == "xgmi";
    const int count = ToInt(link.attribute("count")).value_or(1);
    if (link.attribute("tclass").value() == kSwitchClass) {
      links.to_switches += count;
    } else {
      links.to_device[link.attribute("target").value()] += count;
    }
  }
  return links;
}

class Reader {
 public:
  void ReadCpu(const pugi::xml_node& cpu) { Visit(cpu, {.cpu = cpu}); }

  GpuTopology Finish() {
    std::stable_sort(gpus_.begin(), gpus_.end(), [](const GpuDevice& a, const GpuDevice& b) {
      return a.number.value_or(kLast) < b.number.value_or(kLast);
    });
    GpuTopology topology;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      gpus_[i].gpu.name = fmt::format("GPU{}", i);
      topology.gpus.push_back(gpus_[i].gpu);
    }
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      nics_[i].nic.name = fmt::format("NIC{}", i);
      topology.nics.push_back(nics_[i].nic);
    }
    for (const GpuDevice& gpu : gpus_) {
      std::vector<DevicePath> gpus;
      for (const GpuDevice& other : gpus_) gpus.push_back(BetweenGpus(gpu, other));
      topology.between_gpus.push_back(std::move(gpus));
      std::vector<DevicePath> nics;
      for (const NicDevice& nic : nics_) nics.push_back(OverPci(gpu.at, nic.at));
      topology.to_nics.push_back(std::move(nics));
    }
    return topology;
  }

 private:
  static constexpr int kLast = 1 << 30;

  void Visit(const pugi::xml_node& parent, const Device& at) {
    for (const pugi::xml_node& child : parent.children()) {
      const std::string_view kind = child.name();
      if (kind == "pci") VisitPci(child, at);
      if (kind == "nic") AddNic(child, at);  // a virtual one, right below the CPU
    }
  }

  void VisitPci(const pugi::xml_node& pci, const Device& at) {
    const pugi::xml_node gpu = pci.child("gpu");
    const pugi::xml_node nic = pci.child("nic");
    for (const pugi::xml_node& link : pci.children("pcilink")) {
      linked_switches_.emplace(pci.attribute("busid").value(), link.attribute("target").value());
    }
    if (gpu) AddGpu(pci, gpu, at);
    if (nic) AddNic(nic, at);
    if (gpu || nic) return;
    // A bare PCI device of a display, 3D or accelerator class, or of a network's.
    const bool bare = !pci.child("pci");
    if (bare && (HasClass(pci, "03") || HasClass(pci, "12"))) AddGpu(pci, gpu, at);
    if (bare && HasClass(pci, "02")) {
      nics_.push_back({.nic = {.device = pci.attribute("busid").value()}, .at = at});
    }
    Device below = at;
    below.pci.push_back(pci);
    Visit(pci, below);
  }

  void AddGpu(const pugi::xml_node& pci, const pugi::xml_node& gpu, const Device& at) {
    gpus_.push_back({.gpu = {.bus_id = pci.attribute("busid").value(),
                             .numa_node = ToInt(at.cpu.attribute("numaid")),
                             .cpu_list = CpuListOf(at.cpu.attribute("affinity").value())},
                     .number = ToInt(gpu.attribute("dev")),
                     .at = at,
                     .links = ReadLinks(gpu)});
  }

  void AddNic(const pugi::xml_node& nic, const Device& at) {
    constexpr double kMbitToGbit = 1e-3;
    for (const pugi::xml_node& net : nic.children("net")) {
      NicDevice device{.nic = {.device = net.attribute("name").value()}, .at = at};
      const auto rate = ToInt(net.attribute("speed"));
      if (rate && *rate > 0) device.nic.gbit_s = *rate * kMbitToGbit;
      nics_.push_back(std::move(device));
    }
  }

  DevicePath BetweenGpus(const GpuDevice& a, const GpuDevice& b) const {
    if (&a == &b) return {.level = GpuLevel::kSelf, .text = "X"};
    // Each GPU lists its own ends; where the two differ, or one is missing, the fewer count.
    const auto direct = a.links.to_device.find(b.gpu.bus_id);
    const auto back = b.links.to_device.find(a.gpu.bus_id);
    int links = std::min(a.links.to_switches, b.links.to_switches);
    if (direct != a.links.to_device.end()) links += direct->second;
    if (direct != a.links.to_device.end() && back != b.links.to_device.end()) {
      links -= std::max(0, direct->second - back->second);
    } else if (back != b.links.to_device.end()) {
      links += back->second;
    }
    if (links == 0) return OverPci(a.at, b.at);
    return {.level = GpuLevel::kNvlink, .text = a.links.xgmi ? "XGMI" : fmt::format("NV{}", links)};
  }

  bool Linked(const Device& a, const Device& b) const {
    const auto has_link = [&](const pugi::xml_node& from, const pugi::xml_node& to) {
      return linked_switches_.contains(
          {from.attribute("busid").value(), to.attribute("busid").value()});
    };
    return std::any_of(a.pci.begin(), a.pci.end(), [&](const pugi::xml_node& of_a) {
      return std::any_of(b.pci.begin(), b.pci.end(), [&](const pugi::xml_node& of_b) {
        return has_link(of_a, of_b) || has_link(of_b, of_a);
      });
    });
  }

  DevicePath OverPci(const Device& a, const Device& b) const {
    std::size_t common = 0;
    while (common < a.pci.size() && common < b.pci.size() && a.pci[common] == b.pci[common]) {
      ++common;
    }
    if (common > 0) {
      const std::size_t switches = a.pci.size() + b.pci.size() - 2 * common + 1;
      return {.level = GpuLevel::kPcieSwitch, .text = switches == 1 ? "PIX" : "PXB"};
    }
    if (Linked(a, b)) return {.level = GpuLevel::kPcieSwitch, .text = "PXB"};
    if (a.cpu == b.cpu) return {.level = GpuLevel::kHostBridge, .text = "PHB"};
    return {};
  }

  std::vector<GpuDevice> gpus_ = {};
  std::vector<NicDevice> nics_ = {};
  std::set<std::pair<std::string, std::string>> linked_switches_ = {};  // bus ids
};

}  // namespace

GpuTopology ParseNcclXml(std::string_view text, std::string_view file) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    FailInput(file, PositionAt(text, static_cast<std::size_t>(parsed.offset)),
              fmt::format("expected XML: {}", parsed.description()));
  }
  const pugi::xml_node system = document.child("system");
  if (!system) {
    const pugi::xml_node root = document.document_element();
    FailInput(file, PositionAt(text, static_cast<std::size_t>(root.offset_debug())),
              fmt::format("<{}>: expected <system>, as NCCL_TOPO_DUMP_FILE writes", root.name()));
  }
  Reader reader;
  for (const pugi::xml_node& cpu : system.children("cpu")) reader.ReadCpu(cpu);
  GpuTopology topology = reader.Finish();
  topology.source = fmt::format("NCCL topology in {}", file);
  if (topology.gpus.empty()) topology.unknown_because = fmt::format("no GPU in {}", file);
  return topology;
}

GpuTopology ReadNcclXml(const std::string& path) { return ParseNcclXml(ReadInputFile(path), path); }

}  // namespace hockney
