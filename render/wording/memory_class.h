// The classes of a process's memory, in words.
#pragma once

#include <string_view>

namespace dcmt::wording {

/// What a class of mappings is for: "malloc" → "the C library's allocator". "numpy" is a class of arrays, "graph" of
/// nodes.
[[nodiscard]] std::string_view memory_class_text(std::string_view name);

}  // namespace dcmt::wording
