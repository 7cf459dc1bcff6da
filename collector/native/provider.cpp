// Starts the native provider.
#include <stdlib.h>

#include "collector/agent/provider.h"
#include "collector/native/allocator_hooks.h"
#include "collector/native/sampling.h"

namespace dcmt::native_provider {
namespace {
constexpr agent::NativeProvider kProvider{sizeof(agent::NativeProvider), hook_new_objects, stop_sampling,
                                          unhook_allocators};
}  // namespace
}  // namespace dcmt::native_provider

extern "C" __attribute__((visibility("default"))) void dcmt_provider_start() {
  using namespace dcmt;
  const char* why = "allocations of C and C++ are not sampled: there is no memory for their table";
  if (native_provider::prepare_sampling()) {
    native_provider::restart_sampling();
    why = native_provider::hook_allocators();
  }
  if (why != nullptr) {
    agent::diagnose(wire::DiagnosticCode::kProviderOff, why);
    return;
  }
  // For a program without Python: before what was made up to now is destroyed.
  static constinit bool is_registered = false;
  if (!is_registered) is_registered = atexit([] { native_provider::stop_sampling(); }) == 0;
  agent::register_native_provider(&native_provider::kProvider);
}
