#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hockney {

// MPI's tools interface (MPI_T), open while this lives; between MPI's start and its end. It may be
// missing: then every question has no answer. Open MPI loads its components anew for the first one,
// which takes a quarter of a second.
class ToolsInterface {
 public:
  ToolsInterface();
  ToolsInterface(const ToolsInterface&) = delete;
  ToolsInterface& operator=(const ToolsInterface&) = delete;
  ~ToolsInterface();

  // One value of an enumeration.
  struct Item {
    std::string name = {};
    int value = 0;
  };

  // Names of the categories that still exist, and of the control variables.
  std::vector<std::string> Categories() const;
  std::vector<std::string> Variables() const;
  // The items of a control variable that is an enumeration, in the library's order.
  std::vector<Item> Items(const std::string& variable) const;
  // What the library says about a control variable, on one line or several; empty if it is unknown.
  std::string Description(const std::string& variable) const;
  // The current value of an enumeration, as its item's name; else empty.
  std::string EnumValue(const std::string& variable) const;
  // The current value of a whole number or a truth value, and of a text.
  std::optional<int> Int(const std::string& variable) const;
  std::string Text(const std::string& variable) const;
  // Gives a variable of type int another value. False if the library refuses.
  bool SetInt(const std::string& variable, int value) const;

 private:
  bool open_ = false;
};

}  // namespace hockney
