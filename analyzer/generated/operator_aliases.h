// What operators declare to share with their arguments, compared with what their calls shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

enum class AliasConsequence {
  kNone,   ///< declared and observed, or neither
  kEarly,  ///< observed, not declared: users of the schema delete or reuse the argument while the output is read
  kLate,   ///< declared, never observed: the argument is kept as long as the output
};

/// An output and an argument that share one storage, according to the schema or in a call.
struct AliasFact {
  std::int64_t output = 0, argument = 0;
  std::string argument_name;  ///< empty: the schema does not name it
  bool declared = false, observed = false;

  [[nodiscard]] AliasConsequence consequence() const {
    if (declared == observed) return AliasConsequence::kNone;
    return observed ? AliasConsequence::kEarly : AliasConsequence::kLate;
  }

  static constexpr std::string_view kShape = "operator_alias";
  static void describe(auto&& field) {
    field("output", &AliasFact::output, "from 0");
    field("argument", &AliasFact::argument, "from 0");
    field("argument_name", &AliasFact::argument_name, "empty: not known");
    field("declared", &AliasFact::declared, "the schema says that the output may be the argument");
    field("observed", &AliasFact::observed, "in some call the output was on the argument's storage");
    field("consequence", &AliasFact::consequence,
          "\"none\"; \"early\": whoever goes by the schema deletes or reuses the argument while the output is read; "
          "\"late\": keeps it as long as the output");
  }
};

/// One overload of an operator that the collector inspected.
struct OperatorAliases {
  std::string name, schema;
  std::vector<AliasFact> facts;  ///< by output, then argument; empty: nothing is shared or declared to be

  [[nodiscard]] bool agrees() const;
};

/// Covers all calls of the trace, ordered by name. Empty for a trace of an older recorder, which did not record them.
[[nodiscard]] Expected<std::vector<OperatorAliases>> operator_aliases(Database& database);

/// "ops::wait(Tensor(a) t, int id=0) -> Tensor(a)", 1 → "id"; empty if it has no such argument.
[[nodiscard]] std::string argument_name(std::string_view schema, std::int64_t argument);

[[nodiscard]] std::string_view name_of(AliasConsequence consequence);

}  // namespace dcmt::analyzer
