// Whether a process of this machine can have hardware watchpoints, by trying.
#pragma once

namespace dcmt::recorder {

/// nullptr, or why `--watch` can have none: static text. For the length of the call, this thread has all watchpoints,
/// and the process a handler of SIGTRAP.
[[nodiscard]] const char* why_no_watchpoints();

}  // namespace dcmt::recorder
