// Which storage holds which other one, as readings of the memory found it: the path to what is held leads through a
// tensor of its holder. "main.history[0]" holds "main.history[0].grad_fn MulBackward0._saved_self".
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::model {

struct Hold {
  StorageId holder, held;
  Sequence found;  ///< the last event before the reading that found it first
};

/// By holder, then by what it holds; each pair once. Of holders behind each other only the nearest one. A path that may
/// be that of several objects ("state[<Parameter>]", "x.grad_fn … 3 nodes"), or is that of several storages, is no
/// holder's: it does not say which of them is meant. Nor is one that a second reading has not confirmed.
[[nodiscard]] std::vector<Hold> find_holds(const analyzer::TraceData& data);

}  // namespace dcmt::model
