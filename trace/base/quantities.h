// Numbers in a readable form: the only wording of counts and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dcmt {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// 12589056 → "12,589,056".
[[nodiscard]] std::string grouped(std::int64_t number);
/// "12,589,056 B".
[[nodiscard]] std::string exact_bytes(std::int64_t bytes);
/// "12.0 MiB"; exact below 1 KiB. 1023.96 KiB is "1.0 MiB": no unit shows a thousand or more of itself.
[[nodiscard]] std::string rounded_bytes(std::int64_t bytes);
/// "1 release", "12 releases".
[[nodiscard]] std::string counted(std::int64_t number, std::string_view singular, std::string_view plural = {});

}  // namespace dcmt
