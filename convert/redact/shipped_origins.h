// The origins of gathers that dc-memtrace itself defines: those of collector/recorder/operators.toml, which the build
// reads. Other origins come from a user's own table.
#pragma once

#include <string_view>

namespace dcmt::convert {

[[nodiscard]] bool is_shipped_origin(std::string_view origin);

}  // namespace dcmt::convert
