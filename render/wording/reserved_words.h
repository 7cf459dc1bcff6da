// What a GPU's allocator had reserved, in words.
#pragma once

#include <optional>
#include <string>

#include "analyzer/model/reserved_view.h"

namespace dcmt::wording {

/// What the bytes of a row are: "free in the pool of stream 2".
/// @param stream  of the latest request
[[nodiscard]] std::string reserved_text(const analyzer::ReservedRow& row, std::optional<std::int64_t> stream);

}  // namespace dcmt::wording
