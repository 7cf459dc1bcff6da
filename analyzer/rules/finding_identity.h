// The identity of a finding: equal in the next run, on another rank, with other censuses, and after an unrelated edit.
// It consists of what the finding is and where in the program, in texts that do not depend on addresses, sequences,
// line numbers or names of generated files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dcmt::analyzer {

struct FindingIdentity {
  std::string rule;
  std::string born;      ///< what gave the storages, and its calling function; for out of memory: what requested memory
  std::string released;  ///< the same for their release, and for the read after it; empty: none
  /// The function that holds the storages. nullopt: not certain in this run.
  std::optional<std::string> holder;

  friend bool operator==(const FindingIdentity&, const FindingIdentity&) = default;

  static constexpr std::string_view kShape = "identity";
  static void describe(auto&& field) {
    field("rule", &FindingIdentity::rule, "");
    field("born", &FindingIdentity::born,
          "what gave the storages, and the function that called it; \"[*]\": several functions");
    field("released", &FindingIdentity::released,
          "the same of their release, and of a read after it; empty: there is none");
    field("holder", &FindingIdentity::holder, "the function that holds them; null: not known for certain");
  }
};

/// True if both are one defect. Different holders separate them only if both holders are certain.
[[nodiscard]] bool same_finding(const FindingIdentity& a, const FindingIdentity& b);

}  // namespace dcmt::analyzer
