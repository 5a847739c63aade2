#include "collectives/wire/ucx_context.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "topology/check.h"

namespace hockney {
namespace {

// The transports the user lets UCX take, less its shared memory, by which it would join ranks of
// one machine, also those that MPI puts on different hosts.
std::string WithoutSharedMemory(const char* transports) {
  const std::string text = transports == nullptr ? "" : transports;
  if (text.empty() || text == "all") return "^sm";
  if (text.front() == '^') return text + ",sm";
  const std::set<std::string> shared = {"sm", "shm", "mm", "posix", "sysv", "cma", "knem", "xpmem"};
  std::string kept;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (!shared.contains(name)) kept += (kept.empty() ? "" : ",") + name;
  }
  return kept.empty() ? text : kept;
}

}  // namespace

UcxContext MakeUcxContext(const std::string& interfaces) {
  ucp_config_t* config = nullptr;
  HOCKNEY_CHECK(ucp_config_read(nullptr, nullptr, &config));
  const std::unique_ptr<ucp_config_t, UcxFreer<ucp_config_t, ucp_config_release>> owner(config);
  const std::string transports = WithoutSharedMemory(std::getenv("UCX_TLS"));
  HOCKNEY_CHECK(ucp_config_modify(config, "TLS", transports.c_str()));
  if (!interfaces.empty() && std::getenv("UCX_NET_DEVICES") == nullptr) {
    HOCKNEY_CHECK(ucp_config_modify(config, "NET_DEVICES", interfaces.c_str()));
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM;
  params.name = "hockney";
  ucp_context_h context = nullptr;
  HOCKNEY_CHECK(ucp_init(&params, config, &context));
  return UcxContext(context);
}

UcxWorker MakeUcxWorker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  HOCKNEY_CHECK(ucp_worker_create(context, &params, &worker));
  return UcxWorker(worker);
}

std::string UsersUcxChoice() {
  const char* transports = std::getenv("UCX_TLS");
  const char* devices = std::getenv("UCX_NET_DEVICES");
  return fmt::format(" (UCX_TLS={}, UCX_NET_DEVICES={})", transports ? transports : "not set",
                     devices ? devices : "not set");
}

bool KnowsCudaMemory(ucp_context_h context) {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  HOCKNEY_CHECK(ucp_context_query(context, &attributes));
  return (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
}

int UcxVersion() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return static_cast<int>(major * 100 + minor);
}

ucp_mem_h RegisterMemory(ucp_context_h context, std::span<std::byte> memory, bool of_gpu) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = memory.data();
  params.length = memory.size();
  if (of_gpu) {
    params.field_mask |= UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
    params.memory_type = UCS_MEMORY_TYPE_CUDA;
  }
  ucp_mem_h handle = nullptr;
  HOCKNEY_CHECK(ucp_mem_map(context, &params, &handle));
  return handle;
}

void Deregister(ucp_context_h context, void* handle) {
  static_cast<void>(ucp_mem_unmap(context, static_cast<ucp_mem_h>(handle)));
}

std::vector<std::byte> AddressOfWorker(ucp_worker_h worker) {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  HOCKNEY_CHECK(ucp_worker_get_address(worker, &address, &bytes));
  const auto* begin = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(begin, begin + bytes);
  ucp_worker_release_address(worker, address);
  return copy;
}

std::string DescribeEndpoint(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* file = open_memstream(&text, &bytes);
  if (file == nullptr) return "";
  ucp_ep_print_info(endpoint, file);
  std::fclose(file);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return {text, bytes};
}

}  // namespace hockney
