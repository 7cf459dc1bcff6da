// Operators: the stack of running operators of each thread, and a row for each operator.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/recorder/assemble/phases.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class Operators {
 public:
  Operators(Journal& journal, Dictionary& dictionary, Phases& phases)
      : journal_(journal), dictionary_(dictionary), phases_(phases) {}

  Status resume();
  Status begin(const wire::OpRecord& record);
  /// Ends the operator with this ordinal, and operators inside it whose own ends were lost.
  Status end(const wire::OpRecord& record);
  Status commit();

  /// The innermost running operator on the current record's thread, 0 if none.
  [[nodiscard]] RowId running() const;
  /// The operator with this name and ordinal that runs on another thread; 0 if there is none, or several.
  [[nodiscard]] RowId running_elsewhere(RowId name, std::uint64_t ordinal) const;
  /// The readable name of the running operator: that of the outermost plain operator around it; 0 if none.
  [[nodiscard]] RowId running_name() const;

 private:
  struct Open {
    OperatorRow row;
    OpRole role = OpRole::kPlain;
    bool names_itself = false;  ///< named library::name, like an operator; compiled regions around operators are not
    bool is_plain = false;      ///< not a backward node, a range or the engine
    bool stored = false;
  };
  using Stack = std::vector<Open>;

  Status pop(Stack& stack);

  Journal& journal_;
  Dictionary& dictionary_;
  Phases& phases_;
  std::unordered_map<std::uint32_t, Stack> threads_;
};

}  // namespace dcmt::recorder
