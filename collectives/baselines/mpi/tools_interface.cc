#include "collectives/baselines/mpi/tools_interface.h"

#include <mpi.h>

#include <array>

namespace hockney {
namespace {

constexpr int kMaxNameBytes = 256;
constexpr int kMaxTextBytes = 8192;

// What MPI says of a control variable.
struct Variable {
  int index = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum items = MPI_T_ENUM_NULL;
  std::string name = {};
  std::string description = {};
};

std::optional<Variable> Describe(int index) {
  std::array<char, kMaxNameBytes> name{};
  std::array<char, kMaxTextBytes> description{};
  int name_bytes = kMaxNameBytes;
  int description_bytes = kMaxTextBytes;
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  Variable variable{.index = index};
  if (MPI_T_cvar_get_info(index, name.data(), &name_bytes, &verbosity, &variable.type,
                          &variable.items, description.data(), &description_bytes, &bind,
                          &scope) != MPI_SUCCESS) {
    return std::nullopt;
  }
  variable.name = name.data();
  variable.description = description.data();
  return variable;
}

std::optional<Variable> Find(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  return Describe(index);
}

// Access to a variable's value.
class Handle {
 public:
  explicit Handle(int index) {
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count_) != MPI_SUCCESS) count_ = 0;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (count_ > 0) MPI_T_cvar_handle_free(&handle_);
  }
  int count() const { return count_; }
  bool Read(void* value) const { return MPI_T_cvar_read(handle_, value) == MPI_SUCCESS; }
  bool Write(const void* value) const { return MPI_T_cvar_write(handle_, value) == MPI_SUCCESS; }

 private:
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  int count_ = 0;
};

std::vector<ToolsInterface::Item> ItemsOf(MPI_T_enum items) {
  int count = 0;
  std::array<char, kMaxNameBytes> name{};
  int name_bytes = kMaxNameBytes;
  std::vector<ToolsInterface::Item> result;
  if (items == MPI_T_ENUM_NULL ||
      MPI_T_enum_get_info(items, &count, name.data(), &name_bytes) != MPI_SUCCESS) {
    return result;
  }
  for (int i = 0; i < count; ++i) {
    int value = 0;
    name_bytes = kMaxNameBytes;
    if (MPI_T_enum_get_item(items, i, &value, name.data(), &name_bytes) == MPI_SUCCESS) {
      result.push_back({name.data(), value});
    }
  }
  return result;
}

}  // namespace

ToolsInterface::ToolsInterface() {
  int provided = 0;
  open_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
}

ToolsInterface::~ToolsInterface() {
  if (open_) MPI_T_finalize();
}

std::vector<std::string> ToolsInterface::Categories() const {
  std::vector<std::string> names;
  int count = 0;
  if (!open_ || MPI_T_category_get_num(&count) != MPI_SUCCESS) return names;
  for (int i = 0; i < count; ++i) {
    std::array<char, kMaxNameBytes> name{};
    int name_bytes = kMaxNameBytes;
    int description_bytes = 0;
    std::array<int, 3> counts{};
    if (MPI_T_category_get_info(i, name.data(), &name_bytes, nullptr, &description_bytes,
                                &counts[0], &counts[1], &counts[2]) == MPI_SUCCESS) {
      names.emplace_back(name.data());
    }
  }
  return names;
}

std::vector<std::string> ToolsInterface::Variables() const {
  std::vector<std::string> names;
  int count = 0;
  if (!open_ || MPI_T_cvar_get_num(&count) != MPI_SUCCESS) return names;
  for (int i = 0; i < count; ++i) {
    if (auto variable = Describe(i)) names.push_back(std::move(variable->name));
  }
  return names;
}

std::vector<ToolsInterface::Item> ToolsInterface::Items(const std::string& variable) const {
  const auto found = open_ ? Find(variable) : std::nullopt;
  return found ? ItemsOf(found->items) : std::vector<Item>();
}

std::string ToolsInterface::Description(const std::string& variable) const {
  const auto found = open_ ? Find(variable) : std::nullopt;
  return found ? found->description : "";
}

std::string ToolsInterface::EnumValue(const std::string& variable) const {
  const std::optional<int> value = Int(variable);
  if (!value) return "";
  for (const Item& item : Items(variable)) {
    if (item.value == *value) return item.name;
  }
  return "";
}

std::optional<int> ToolsInterface::Int(const std::string& variable) const {
  const auto found = open_ ? Find(variable) : std::nullopt;
  if (!found || (found->type != MPI_INT && found->type != MPI_C_BOOL)) return std::nullopt;
  const Handle handle(found->index);
  int value = 0;  // MPI_C_BOOL is its first byte
  if (handle.count() != 1 || !handle.Read(&value)) return std::nullopt;
  return found->type == MPI_INT ? value : static_cast<int>(value != 0);
}

std::string ToolsInterface::Text(const std::string& variable) const {
  const auto found = open_ ? Find(variable) : std::nullopt;
  if (!found || found->type != MPI_CHAR) return "";
  const Handle handle(found->index);
  if (handle.count() <= 0) return "";
  std::string text(static_cast<std::size_t>(handle.count()) + 1, '\0');
  if (!handle.Read(text.data())) return "";
  return text.c_str();  // up to the zero
}

bool ToolsInterface::SetInt(const std::string& variable, int value) const {
  const auto found = open_ ? Find(variable) : std::nullopt;
  if (!found || found->type != MPI_INT) return false;
  const Handle handle(found->index);
  return handle.count() == 1 && handle.Write(&value);
}

}  // namespace hockney
