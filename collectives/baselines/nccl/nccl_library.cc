#include "collectives/baselines/nccl/nccl_library.h"

#include <dlfcn.h>

#include <array>

#include "collectives/baselines/nccl/nccl_api.h"

namespace hockney {
namespace {

// A library stays loaded: NCCL leaves threads behind.
void* Open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw EnvironmentError("no NCCL: " + std::string(dlerror()));
  return library;
}

class Finder {
 public:
  explicit Finder(const std::string& path) : path_(path), library_(Open(path)) {}

  template <class Function>
  void FindIfThere(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
  }
  template <class Function>
  void Find(const char* name, Function* function) const {
    FindIfThere(name, function);
    if (*function == nullptr) {
      throw EnvironmentError("no NCCL: " + path_ + " has no " + name +
                             ", expected NCCL 2.19 or newer");
    }
  }
  std::string FileOf(const void* function) const {
    Dl_info info{};
    if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return path_;
    return info.dli_fname;
  }

 private:
  std::string path_;
  void* library_;
};

}  // namespace

NcclLibrary NcclLibrary::Load(const std::string& path) {
  const Finder finder(path);
  const auto api = std::make_shared<NcclApi>();
  finder.Find("ncclGetVersion", &api->get_version);
  finder.Find("ncclGetErrorString", &api->error_string);
  finder.Find("ncclGetUniqueId", &api->unique_id);
  finder.Find("ncclCommInitRankConfig", &api->init_rank);
  finder.Find("ncclCommGetAsyncError", &api->async_error);
  finder.Find("ncclCommFinalize", &api->finalize);
  finder.Find("ncclCommDestroy", &api->destroy);
  finder.Find("ncclCommAbort", &api->abort);
  finder.Find("ncclGroupStart", &api->group_start);
  finder.Find("ncclGroupEnd", &api->group_end);
  finder.Find("ncclAllReduce", &api->all_reduce);
  finder.Find("ncclReduceScatter", &api->reduce_scatter);
  finder.Find("ncclAllGather", &api->all_gather);
  finder.Find("ncclBroadcast", &api->broadcast);
  finder.Find("ncclReduce", &api->reduce);
  finder.Find("ncclSend", &api->send);
  finder.Find("ncclRecv", &api->receive);
  finder.FindIfThere("ncclAlltoAll", &api->all_to_all);
  if (api->get_version(&api->number) != ncclSuccess) {
    throw EnvironmentError("no NCCL: " + path + " does not tell its version");
  }
  NcclLibrary library;
  library.file_ = finder.FileOf(reinterpret_cast<const void*>(api->get_version));
  library.api_ = api;
  return library;
}

std::string NcclLibrary::version() const { return NcclVersionText(api_->number); }

std::string NcclHeaderVersion() { return NcclVersionText(NCCL_VERSION_CODE); }

}  // namespace hockney
