// Ids and texts that may be missing.
#pragma once

#include <optional>
#include <string_view>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// nullopt for a zero id.
template <class Id>
[[nodiscard]] std::optional<Id> given(Id id) {
  return id.valid() ? std::optional(id) : std::nullopt;
}

/// nullopt for the zero id.
[[nodiscard]] inline std::optional<std::string_view> text_of(const TraceData& data, StringId id) {
  return id.valid() ? std::optional(data.text(id)) : std::nullopt;
}

[[nodiscard]] inline std::optional<std::string_view> unless_empty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace dcmt::analyzer
