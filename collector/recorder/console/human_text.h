// Numbers of a status line, with few characters.
#pragma once

#include <cstdint>
#include <string>

namespace dcmt::recorder {

/// "9999", "45.1 k", "1.2 M".
[[nodiscard]] std::string human_count(std::int64_t n);

}  // namespace dcmt::recorder
