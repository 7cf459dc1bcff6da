// Bytes in short form.
#pragma once

#include <cstdint>
#include <string>

namespace dcmt::gui::scene {

/// "12.1 MiB"; exact below 1 KiB. Replaces the contents of `text`.
void write_bytes(std::int64_t bytes, std::string& text);

/// The smallest of 1, 2, 5 × 2^k × 1 KiB, ... that is at least `least`: for axes of bytes.
[[nodiscard]] std::int64_t round_bytes(std::int64_t least);

}  // namespace dcmt::gui::scene
