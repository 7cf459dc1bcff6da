// The torch.nn.Module for which a block was allocated.
#pragma once

#include <string_view>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// "model.layers.3.mlp". A parameter, a buffer, a gradient and an optimizer's state belong to the module that has the
/// parameter; everything else to the module whose call allocated it, or whose backward did. Empty: none of them is
/// known.
[[nodiscard]] std::string_view module_of(const TraceData& data, const Block& block);

}  // namespace dcmt::analyzer
