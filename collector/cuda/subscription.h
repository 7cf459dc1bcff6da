// CUPTI has only one subscriber. The provider subscribes, leaves when another library subscribes, and comes back.
#pragma once

namespace dcmt::cuda_provider {

/// Finds CUPTI and hooks the imports through which other libraries subscribe, at the start of each recording. False,
/// with the reason in `why`, if the process has no CUPTI.
bool begin_subscription(const char** why) noexcept;

/// See agent::CudaProvider::watch_calls.
void watch_calls() noexcept;

/// See agent::CudaProvider::write_launches.
void write_launches_if_ever() noexcept;

/// See agent::CudaProvider::step_aside.
void step_aside() noexcept;

/// See agent::CudaProvider::watch_from_now.
const char* watch_from_now() noexcept;

/// See agent::CudaProvider::before_end.
void before_end() noexcept;

/// See agent::CudaProvider::leave.
void leave() noexcept;

}  // namespace dcmt::cuda_provider
