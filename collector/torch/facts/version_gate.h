// The first check: the running torch must be the version whose headers this provider was compiled against.
#pragma once

namespace dcmt::torch_provider {

/// nullptr if the running torch has the version (major and minor) that was compiled in; else one line with both
/// versions and what to do. Calls one exported C function of torch and uses nothing else of it: between two versions
/// virtual functions move, even if all fields stay.
const char* other_torch_version() noexcept;

}  // namespace dcmt::torch_provider
