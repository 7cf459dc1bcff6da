// Out-of-memory errors: what was alive, what of it was dead, and what would have had to be gone.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "analyzer/releases/what_if.h"

namespace dcmt::analyzer {

enum class OomCause {
  kHeld,        ///< without what was released and still held, the request fits
  kFragmented,  ///< the reserved memory had the bytes, but scattered
  kLimited,     ///< the device had the bytes, but the process may not take them
  kNeeded,      ///< none of these: what was alive had not been released, or too little of it had
};

struct OomVerdict {
  const OutOfMemory* oom = nullptr;
  Bytes allocated;  ///< by torch's count, else the sum of the blocks alive
  Bytes dead;       ///< of them: released and still held
  Bytes missing;    ///< beyond what the device could give: so many would have to be gone
  OomCause cause = OomCause::kNeeded;
  bool fits_without_dead = false;
  bool went_on = false;  ///< the program caught the error
  const Step* step = nullptr;
};

/// One for each error of the trace, in order.
[[nodiscard]] std::vector<OomVerdict> judge_out_of_memory(const TraceData& data, const Releases& releases);

[[nodiscard]] std::string_view name_of(OomCause cause);

}  // namespace dcmt::analyzer
