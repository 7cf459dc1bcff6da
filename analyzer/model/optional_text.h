// Texts that may be missing.
#pragma once

#include <optional>
#include <string_view>

namespace dcmt::model {

[[nodiscard]] inline std::optional<std::string_view> unless_empty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace dcmt::model
