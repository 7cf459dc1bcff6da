// Compares a recording with its baseline.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/baseline.h"
#include "analyzer/gate/verdict.h"
#include "trace/base/status.h"

namespace dcmt::gate {

struct Rules {
  bool strict = false;                    ///< a gain that the baseline does not have fails
  bool on_main = false;                   ///< an expected retention past its day fails
  std::vector<std::string> require = {};  ///< more than the baseline's
  std::string today = {};                 ///< "2026-11-25"
};

/// `baseline_path`: as it is printed. Fails as unmet() does.
[[nodiscard]] Expected<Verdict> judge(const std::string& baseline_path, const Baseline& baseline,
                                      const Recording& recording, const Rules& rules);

/// Which of the requirements ("gathers.eager > 0") a recording does not meet, as sentences. "gathers.eager" means
/// "gathers.eager_fallback" too, and their sum. Fails as check_requirement() does.
[[nodiscard]] Expected<std::vector<std::string>> unmet(const std::vector<std::string>& require,
                                                       const Recording& recording);

/// kUsage if the text is no requirement.
[[nodiscard]] Status check_requirement(const std::string& text);

}  // namespace dcmt::gate
