#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

// UCX's handles as the wire uses them. For ucx_wire.cc only.
namespace hockney {

// For HOCKNEY_CHECK.
inline const char* StatusText(ucs_status_t status) {
  return status == UCS_OK || status == UCS_INPROGRESS ? nullptr : ucs_status_string(status);
}

template <class T, void (*kFree)(T*)>
struct UcxFreer {
  void operator()(T* object) const { kFree(object); }
};
using UcxContext = std::unique_ptr<ucp_context, UcxFreer<ucp_context, ucp_cleanup>>;
using UcxWorker = std::unique_ptr<ucp_worker, UcxFreer<ucp_worker, ucp_worker_destroy>>;

// Starts UCX for active messages on the network interfaces named (comma separated; all if none is),
// unless UCX_NET_DEVICES says which. UCX_* variables count, but shared memory stays off. Throw
// BackendError if UCX refuses.
UcxContext MakeUcxContext(const std::string& interfaces);
UcxWorker MakeUcxWorker(ucp_context_h context);

// Whether UCX moves memory of CUDA devices.
bool KnowsCudaMemory(ucp_context_h context);
// Of the library that runs: major * 100 + minor.
int UcxVersion();
// Registers memory; throws BackendError if UCX refuses.
ucp_mem_h RegisterMemory(ucp_context_h context, std::span<std::byte> memory, bool of_gpu);
void Deregister(ucp_context_h context, void* handle);

// What other workers connect to.
std::vector<std::byte> AddressOfWorker(ucp_worker_h worker);

// What UCX says of an endpoint, for FindEndpointLane.
std::string DescribeEndpoint(ucp_ep_h endpoint);

// What a user lets UCX take, in brackets, for messages about it.
std::string UsersUcxChoice();

}  // namespace hockney
