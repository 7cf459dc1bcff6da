// Removes from a text what differs from run to run.
#pragma once

#include <string>
#include <string_view>

namespace dcmt::analyzer {

/// "layers[3].seen" → "layers[*].seen", "resume_in_forward_at_45" → "resume_in_forward_at_[*]", addresses → "[*]".
[[nodiscard]] std::string without_numbers(std::string_view text);

}  // namespace dcmt::analyzer
