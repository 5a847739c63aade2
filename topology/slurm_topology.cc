#include "topology/slurm_topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "topology/hostlist.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

// `key=value` and where each stands.
struct Entry {
  std::string key = {};  // lower case
  std::string value = {};
  TextPosition key_at = {};
  TextPosition value_at = {};
};
using Statement = std::vector<Entry>;

// A switch or a block.
struct Node {
  std::string name = {};
  TextPosition at = {};
  std::vector<std::string> hosts = {};
  std::vector<std::string> below = {};
  TextPosition below_at = {};
  std::string above = {};
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Cuts the text into statements: lines, but for continued ones, without comments.
class Lines {
 public:
  Lines(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  // The next statement with entries, empty at the end.
  Statement Next() {
    Statement statement;
    while (SkipBlanks()) {
      if (text_[at_] == '\n') {
        ++at_;
        if (!statement.empty()) break;
        continue;
      }
      statement.push_back(ReadEntry());
    }
    return statement;
  }

 private:
  // The position of at_; counts on from the last one, so that long files take linear time.
  TextPosition Here() {
    for (std::size_t end = 0; (end = text_.find('\n', line_begin_)) < at_;) {
      line_begin_ = end + 1;
      ++line_;
    }
    return {.line = line_, .column = at_ - line_begin_ + 1};
  }

  // Stops at the next entry or line end; false at the end of the text.
  bool SkipBlanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("\\\n")) {
        at_ += 2;
      } else if (rest.starts_with("\\\r\n")) {
        at_ += 3;
      } else if (rest[0] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r') {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  std::string_view ReadUntil(std::string_view ends) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  Entry ReadEntry() {
    Entry entry;
    entry.key_at = Here();
    const std::string_view key = ReadUntil("= \t\r\n#");
    if (at_ == text_.size() || text_[at_] != '=') {
      FailInput(file_, entry.key_at, fmt::format("\"{}\": expected key=value", key));
    }
    ++at_;
    entry.key = Lower(key);
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) ++at_;
    entry.value_at = Here();
    entry.value = ReadUntil(quoted ? "\"\n" : " \t\r\n#\\");
    if (quoted && (at_ == text_.size() || text_[at_++] != '"')) {
      FailInput(file_, entry.value_at, fmt::format("\"{}: expected a closing quote", entry.value));
    }
    if (entry.value.empty()) {
      FailInput(file_, entry.value_at, fmt::format("{}=: expected a value", key));
    }
    return entry;
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begin_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  void Add(const Statement& statement) {
    const Entry& first = statement.front();
    if (first.key == "blocksizes") return;
    if (first.key != "switchname" && first.key != "blockname") {
      FailInput(file_, first.key_at,
                fmt::format("\"{}\": expected SwitchName, BlockName or BlockSizes", first.key));
    }
    Node node{.name = first.value, .at = first.value_at};
    for (std::size_t i = 1; i < statement.size(); ++i) AddEntry(statement[i], first.key, &node);
    if (node.hosts.empty() == node.below.empty()) {
      FailInput(file_, node.at,
                fmt::format("\"{}\": expected either Nodes or Switches", node.name));
    }
    if (!index_.emplace(node.name, nodes_.size()).second) {
      FailInput(file_, node.at, fmt::format("\"{}\": expected a name once only", node.name));
    }
    nodes_.push_back(std::move(node));
  }

  SwitchTree Finish() {
    Link();
    SwitchTree tree;
    for (Node& node : nodes_) {
      if (node.hosts.empty()) continue;
      for (const std::string& host : node.hosts) RequireOnce(host, node);
      tree.racks.push_back({.name = node.name, .hosts = std::move(node.hosts), .pod = node.above});
    }
    return tree;
  }

 private:
  void AddEntry(const Entry& entry, std::string_view kind, Node* node) const {
    if (entry.key == "nodes") {
      node->hosts = Expand(entry);
    } else if (entry.key == "switches" && kind == "switchname") {
      node->below = Expand(entry);
      node->below_at = entry.value_at;
    } else if (entry.key != "linkspeed" || kind != "switchname") {
      FailInput(file_, entry.key_at,
                fmt::format("\"{}\": expected {}", entry.key,
                            kind == "switchname" ? "Nodes, Switches or LinkSpeed" : "Nodes"));
    }
  }

  std::vector<std::string> Expand(const Entry& entry) const {
    try {
      return ExpandHostlist(entry.value);
    } catch (const HostlistError& error) {
      FailInput(file_,
                {.line = entry.value_at.line, .column = entry.value_at.column + error.offset()},
                error.what());
    }
  }

  void Link() {
    for (const Node& node : nodes_) {
      for (const std::string& name : node.below) {
        const auto found = index_.find(name);
        if (found == index_.end()) {
          FailInput(file_, node.below_at,
                    fmt::format("\"{}\": expected the name of a switch of this file", name));
        }
        Node& child = nodes_[found->second];
        if (!child.above.empty()) {
          FailInput(file_, node.below_at,
                    fmt::format("\"{}\": expected once only, but it is below \"{}\" already", name,
                                child.above));
        }
        child.above = node.name;
      }
    }
    for (const Node& node : nodes_) RequireNotBelowItself(node);
  }

  void RequireNotBelowItself(const Node& node) const {
    std::string above = node.above;
    for (std::size_t steps = 0; !above.empty(); ++steps) {
      if (above == node.name || steps > nodes_.size()) {
        FailInput(
            file_, node.at,
            fmt::format("\"{}\": expected a tree, but this switch is below itself", node.name));
      }
      above = nodes_[index_.at(above)].above;
    }
  }

  void RequireOnce(const std::string& host, const Node& node) {
    const auto [found, is_new] = rack_of_.emplace(host, node.name);
    if (is_new) return;
    FailInput(file_, node.at,
              fmt::format("node \"{}\": expected in one rack, but it is in \"{}\" and \"{}\"", host,
                          found->second, node.name));
  }

  std::string_view file_;
  std::vector<Node> nodes_ = {};
  std::map<std::string, std::size_t, std::less<>> index_ = {};
  std::map<std::string, std::string> rack_of_ = {};
};

}  // namespace

SwitchTree ParseSlurmTopology(std::string_view text, std::string_view file) {
  Lines lines(text, file);
  Reader reader(file);
  bool any = false;
  while (true) {
    const Statement statement = lines.Next();
    if (statement.empty()) break;
    reader.Add(statement);
    any = true;
  }
  if (!any) FailInput(file, {}, "expected lines such as SwitchName=s0 Nodes=host[1-4]");
  SwitchTree tree = reader.Finish();
  tree.source = fmt::format("Slurm topology {}", file);
  return tree;
}

SwitchTree ReadSlurmTopology(const std::string& path) {
  return ParseSlurmTopology(ReadInputFile(path), path);
}

std::vector<std::string> ParseSlurmAddress(std::string_view address, std::string_view pattern) {
  std::vector<std::string> switches;
  // The node comes last and may hold dots itself, so that the pattern says how many come before it.
  while (pattern.starts_with("switch.") || pattern.starts_with("block.")) {
    pattern.remove_prefix(pattern.find('.') + 1);
    const std::size_t dot = address.find('.');
    if (dot == address.npos || dot == 0) return {};
    switches.emplace_back(address.substr(0, dot));
    address.remove_prefix(dot + 1);
  }
  if (pattern != "node" || address.empty()) return {};
  std::reverse(switches.begin(), switches.end());
  return switches;
}

}  // namespace hockney
