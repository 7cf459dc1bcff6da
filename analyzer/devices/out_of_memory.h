// Verdicts on out-of-memory errors: what was alive, what of it was dead, and how much had to be freed for the request.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "analyzer/releases/what_if.h"

namespace dcmt::analyzer {

enum class OomCause {
  kHeld,        ///< the request fits without the storages that were released and still held
  kFragmented,  ///< the reserved memory had enough bytes, but not in one piece
  kLimited,     ///< the device had enough bytes, but the process was not allowed to use them
  kNeeded,      ///< none of these: what was alive was not released, or too little of it was
};

struct OomVerdict {
  const OutOfMemory* oom = nullptr;
  Bytes allocated;  ///< torch's count, else the sum of the blocks alive
  Bytes dead;       ///< the part of `allocated` that was released and still held
  Bytes missing;    ///< bytes of the request beyond what the device could give
  OomCause cause = OomCause::kNeeded;
  bool fits_without_dead = false;
  bool went_on = false;  ///< the program caught the error
  const Step* step = nullptr;
};

/// One verdict for each error of the trace, in order.
[[nodiscard]] std::vector<OomVerdict> judge_out_of_memory(const TraceData& data, const Releases& releases);

[[nodiscard]] std::string_view name_of(OomCause cause);

}  // namespace dcmt::analyzer
