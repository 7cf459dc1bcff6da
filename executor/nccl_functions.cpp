#include "executor/nccl_functions.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace dcmt::zero3::nccl {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// Returns an empty text, or what is missing.
std::string load(Functions& all) {
  const char* named = std::getenv("DCMT_NCCL_LIBRARY");
  all.is_torchs = named == nullptr;
  void* library = dlopen(named != nullptr ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  const bool complete =
      find(library, "ncclGetUniqueId", all.get_unique_id) && find(library, "ncclCommInitRank", all.init_rank) &&
      find(library, "ncclCommDestroy", all.destroy) && find(library, "ncclCommAbort", all.abort) &&
      find(library, "ncclGroupStart", all.group_start) && find(library, "ncclGroupEnd", all.group_end) &&
      find(library, "ncclAllGather", all.all_gather) && find(library, "ncclReduceScatter", all.reduce_scatter) &&
      find(library, "ncclGetErrorString", all.error_string) && find(library, "ncclGetLastError", all.last_error);
  return complete ? "" : dlerror();
}

}  // namespace

std::optional<Dtype> dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return Dtype::kInt8;
    case at::kInt:
      return Dtype::kInt32;
    case at::kLong:
      return Dtype::kInt64;
    case at::kHalf:
      return Dtype::kFloat16;
    case at::kFloat:
      return Dtype::kFloat32;
    case at::kDouble:
      return Dtype::kFloat64;
    case at::kBFloat16:
      return Dtype::kBFloat16;
    default:
      return std::nullopt;
  }
}

const Functions& functions(const Place& place) {
  static Functions all;
  static const std::string missing = load(all);
  if (!missing.empty()) fail(place, "there is no NCCL: " + missing);
  return all;
}

}  // namespace dcmt::zero3::nccl
