// What makes a finding the same one in the next run, on another rank, with other censuses taken, after an unrelated
// edit: what it is and where in the program, in words that do not change with addresses, sequences, line numbers or the
// names of generated files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct Finding;

struct FindingIdentity {
  std::string rule;
  std::string born;      ///< what gave the storages, and the function that called it; of out of memory: what asked
  std::string released;  ///< the same of their release, and of the read after it; empty: there is none
  /// The function that holds them. nullopt: not known for certain, in this run.
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

/// True if they are one defect: holders tell two apart only where both are certain.
[[nodiscard]] bool same_finding(const FindingIdentity& a, const FindingIdentity& b);

/// Gives each finding its identity. A place is that of all findings that differ in their holders alone, so it does not
/// depend on which releases a census was taken at; where they have several, it is "[*]".
void identify(const TraceData& data, std::vector<Finding>& findings);

}  // namespace dcmt::analyzer
