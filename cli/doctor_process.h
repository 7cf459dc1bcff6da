// Finds what prevents attaching to a process, and what to do about it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor.h"

namespace dcmt::cli {

struct ProcessDiagnosis {
  std::int64_t pid = 0;
  std::vector<Check> checks;
  /// True if every needed check is ok.
  [[nodiscard]] bool can_attach() const;

  static constexpr std::string_view kShape = "doctor process";
  static void describe(auto&& field) {
    field("pid", &ProcessDiagnosis::pid, "");
    field("can_attach", &ProcessDiagnosis::can_attach, "every needed check is ok");
    field("checks", &ProcessDiagnosis::checks, "");
  }
};

/// Inspects the process from outside. Only whether it is recorded is asked of the process itself.
[[nodiscard]] ProcessDiagnosis diagnose_process(pid_t pid);

}  // namespace dcmt::cli
