// The first check of all: whether the torch that runs is the one whose headers this provider was compiled against.
#pragma once

namespace dcmt::torch_provider {

/// nullptr if the torch that runs has the version (major and minor) that was compiled in, else one line: which versions
/// these are, and what to do. Calls one exported C function of torch and touches nothing else of it: between two
/// versions virtual functions move, also where all fields stay.
const char* other_torch_version() noexcept;

}  // namespace dcmt::torch_provider
