// The result of a census, with its texts.
#pragma once

#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/releases/holders.h"

namespace dcmt::model {

/// `holders`: of the storage, found at its release; nullptr: unknown.
[[nodiscard]] std::optional<Gone> gone_of(const TraceData& data, const analyzer::Maybe<analyzer::Gone>& gone,
                                          const analyzer::Holders* holders = nullptr);

}  // namespace dcmt::model
