#pragma once

namespace dcmt::recorder {
/// Version of the tool, as in the project's CMakeLists.txt.
inline constexpr char kToolVersion[] = DCMT_VERSION;
}  // namespace dcmt::recorder
