// Loads the providers for the torch and the CPython of the process.
#pragma once

namespace dcmt::agent {

/// Loads the provider for this torch, the one for this CPython if there is one, and the one for CUDA if torch contains
/// CUPTI. If there is none for this torch, calls refuse() of provider.h with the reason.
///
/// Providers lie in `libraries`: torch-2.11/libdcmt_torch.so, python-3.12/libdcmt_python.so. A provider that was
/// prepared for exactly this build of torch has priority: `prepared`/BUILD_ID/libdcmt_torch.so. `prepared` may be null
/// or empty. A provider checks whether it fits before it hooks anything (collector/torch/facts/version_gate.h). In a
/// program that already runs, `start_python` calls the Python provider's start; nullptr: the calling thread does. If
/// `kernels` is false, the provider for CUDA is not loaded; that for allocators only if `native` is true.
void load_providers(const char* libraries, const char* prepared, void (*start_python)(void (*start)()), bool kernels,
                    bool native) noexcept;

/// True if the process has CUPTI, which is part of a torch that was built for CUDA.
bool has_cupti() noexcept;

/// True if the process has loaded an object with this name.
bool is_loaded(const char* library) noexcept;

}  // namespace dcmt::agent
