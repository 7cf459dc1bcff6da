// Variables of the environment that were meant to set torch's allocator, and were not read.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/allocator/settings.h"

namespace dcmt::analyzer {

/// The variables whose text torch did not take, and why. Torch 2.11 reads the first that is set of
/// PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF, once, when it first needs the allocator.
/// @param variables  "NAME=VALUE;NAME=VALUE"
/// @param taken      the settings that torch had
[[nodiscard]] std::vector<IdleSetting> unread_variables(std::string_view variables, std::string_view taken);

}  // namespace dcmt::analyzer
