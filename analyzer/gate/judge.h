// Compares a recording with its baseline.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/allowance.h"
#include "analyzer/gate/baseline.h"
#include "analyzer/gate/verdict.h"
#include "trace/base/status.h"

namespace dcmt::gate {

struct Rules {
  bool strict = false;                    ///< a gain that is not in the baseline fails
  bool on_main = false;                   ///< an expected retention fails after its last day
  std::vector<std::string> require = {};  ///< requirements in addition to the baseline's
  std::string today = {};                 ///< "2026-11-25"
  Allowance allowance = {};               ///< what bytes may exceed the baseline by, if that is more than its tolerance
};

/// `baseline_path`: as messages print it. Fails as unmet() does.
[[nodiscard]] Expected<Verdict> judge(const std::string& baseline_path, const Baseline& baseline,
                                      const Recording& recording, const Rules& rules);

/// The requirements ("gathers.eager > 0") that a recording does not meet, as sentences. If no fact is named
/// "gathers.eager", that means the sum of "gathers.eager_fallback" and the like. Fails as check_requirement() does.
[[nodiscard]] Expected<std::vector<std::string>> unmet(const std::vector<std::string>& require,
                                                       const Recording& recording);

/// kUsage if the text is not a requirement.
[[nodiscard]] Status check_requirement(const std::string& text);

}  // namespace dcmt::gate
