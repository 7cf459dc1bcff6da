// How recording begins in a process.
#pragma once

namespace dcmt::agent {

/// Looks whether torch is in the process by now and, at the first time it is, opens the spool, loads the providers and
/// opens the gate. Does nothing where the environment does not ask for recording, in compile workers, and after the
/// first start. Called at process start and when a Python extension is about to be initialised: moments at which the
/// loader is not busy and torch's own static constructors are done.
void start_if_torch_is_here() noexcept;

/// Somebody asks for the address of the function that subscribes to CUPTI. CUPTI serves one, which is not to be us.
void make_way_for_cupti_user() noexcept;

/// True once a provider has said that nothing can be recorded here (refuse() of provider.h).
bool refused() noexcept;

}  // namespace dcmt::agent
