// By how much the bytes of a run may exceed the baseline, as a person says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/gate/baseline.h"

namespace dcmt::gate {

struct Allowance {
  std::int64_t bytes = 0;
  double share = 0;  ///< of the fact's value; of the highest peak where that is 0

  /// Of "1%", "0.5 %", "64KiB", "4096"; nullopt for another text.
  static std::optional<Allowance> named(const std::string& text);

  /// For a fact of the section with this value.
  [[nodiscard]] std::int64_t of(std::int64_t value, const Section& section) const;
};

/// Raises the tolerances of the section's bytes to the allowance.
void allow(Section& section, const Allowance& allowance);

}  // namespace dcmt::gate
