// Readable numbers while the job runs.
#pragma once

#include <cstdint>
#include <string>

namespace dcmt::recorder {

/// "9999", "45.1 k", "1.2 M".
[[nodiscard]] std::string human_count(std::int64_t n);

/// "0.5 KiB", "48.0 MiB", "6.85 GiB".
[[nodiscard]] std::string human_bytes(std::int64_t n);

}  // namespace dcmt::recorder
