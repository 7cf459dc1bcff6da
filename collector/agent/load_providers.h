// Which providers are loaded into the process: those for the torch and the CPython that run.
#pragma once

namespace dcmt::agent {

/// Loads the provider for the torch that runs, one for its CPython if there is one, and the one for CUDA where torch
/// brings CUPTI. Refuses by name (refuse() of start.h) where there is none for this torch.
///
/// Providers lie in `libraries`: torch-2.11/libdcmt_torch.so, python-3.12/libdcmt_python.so. One that was prepared for
/// exactly this build of torch comes first: `prepared`/BUILD_ID/libdcmt_torch.so. `prepared` may be null or empty. A
/// provider checks for itself whether it fits before it hooks anything (collector/torch/version_gate.h).
/// `start_python` calls the Python provider's start, in a program that runs already; nullptr: the calling thread does.
/// Without `kernels` the one for CUDA is left out.
void load_providers(const char* libraries, const char* prepared, void (*start_python)(void (*start)()),
                    bool kernels) noexcept;

/// True if the process has CUPTI, which a torch that was built for CUDA brings with it.
bool has_cupti() noexcept;

/// True if an object of that name is in the process.
bool is_loaded(const char* library) noexcept;

}  // namespace dcmt::agent
