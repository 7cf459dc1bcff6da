// The origins of gathers that dc-memtrace names itself: those of collector/recorder/operators.toml, which the build
// reads. Other origins are words of somebody's own table.
#pragma once

#include <string_view>

namespace dcmt::convert {

[[nodiscard]] bool is_shipped_origin(std::string_view origin);

}  // namespace dcmt::convert
