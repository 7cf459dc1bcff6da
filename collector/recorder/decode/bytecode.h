// Reaching definitions over CPython 3.11 to 3.13 bytecode: which line gave a local its value, and whether it will be
// deleted before the function returns. Pure functions over bytes that came from the spool: every byte is distrusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// What the collector published of one code object.
struct CodeBody {
  int python = 0;                        ///< (major << 8) | minor of the interpreter that compiled it
  int first_line = 0;                    ///< co_firstlineno
  std::string instructions;              ///< co_code: specialised instructions turned back, inline caches in place
  std::string line_table;                ///< co_linetable
  std::string exception_table;           ///< co_exceptiontable
  std::vector<std::string> local_names;  ///< names of localsplus: arguments, locals, cells, free variables

  /// True if there is enough for variable_flow(). The exception table may be empty: most functions have none.
  [[nodiscard]] bool complete() const { return python != 0 && !instructions.empty() && !line_table.empty(); }
};

/// What the bytecode says of one variable at one instruction.
struct VariableFlow {
  /// Lines of the definitions of the variable that reach the instruction, ascending, each once. Empty: the value came
  /// as an argument, from the enclosing function, or by a nested one.
  std::vector<int> assignment_lines;
  /// Line of the nearest delete of the variable that can follow without an assignment to it before. Paths that raise
  /// count as farther than all paths that do not. Empty: the name keeps its value until it is assigned again or the
  /// function returns.
  std::optional<int> delete_line;
  /// Line of the nearest return that can follow.
  std::optional<int> return_line;
};

/// Follows the control flow graph of `body`, exception handlers included.
/// @param local_index  index into localsplus (CensusLocalRecord::index)
/// @param offset       byte offset of the frame's current instruction, or of one of its inline caches. If it stores the
///                     variable, the store has happened: the interpreter fills the slot before it drops the old value,
///                     and only the latter can run other code. Negative: the frame has not started.
/// @return kBadInput when the bytes are no code of a supported version or the arguments do not fit it.
/// Thread-safe; takes time linear in the code's length.
Expected<VariableFlow> variable_flow(const CodeBody& body, int local_index, int offset);

}  // namespace dcmt::recorder
