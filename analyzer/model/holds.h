// Which storage holds which other one, as readings of the memory found it: the path to the held storage leads through a
// tensor of its holder. "main.history[0]" holds "main.history[0].grad_fn MulBackward0._saved_self".
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::model {

struct Hold {
  StorageId holder, held;
  Sequence found;  ///< the last event before the first reading that found it
};

/// Ordered by holder, then by held storage; each pair once. In a chain of holders, only the nearest one counts. A path
/// that may stand for several objects ("state[<Parameter>]", "x.grad_fn … 3 nodes"), or that leads to several storages,
/// makes no holder: it does not say which of them is meant. A path that no second reading has confirmed makes none
/// either.
[[nodiscard]] std::vector<Hold> find_holds(const analyzer::TraceData& data);

}  // namespace dcmt::model
