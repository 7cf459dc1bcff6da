// Reaching definitions over bytecode of CPython 3.11 to 3.15: the line that assigned a local's value, and whether the
// local is deleted before the function returns. Pure functions over bytes from the spool, none of which is trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// The data that the collector published of one code object.
struct CodeBody {
  int python = 0;                        ///< (major << 8) | minor of the interpreter that compiled it
  int first_line = 0;                    ///< co_firstlineno
  std::string instructions;              ///< co_code with original instructions and inline caches
  std::string line_table;                ///< co_linetable
  std::string exception_table;           ///< co_exceptiontable
  std::vector<std::string> local_names;  ///< names of localsplus: arguments, locals, cells, free variables

  /// True if there is enough data for variable_flow(). The exception table may be empty; most functions have none.
  [[nodiscard]] bool complete() const { return python != 0 && !instructions.empty() && !line_table.empty(); }
};

/// The result for one variable at one instruction.
struct VariableFlow {
  /// Lines of the definitions that reach the instruction, ascending, each once. Empty: the value came from an argument,
  /// from the enclosing function, or from a nested one.
  std::vector<int> assignment_lines;
  /// Line of the nearest delete that can follow without an assignment before it. Paths with an exception count as
  /// farther than all paths without. Empty: the variable keeps its value until it is assigned again or the function
  /// returns.
  std::optional<int> delete_line;
  /// Line of the nearest return that can follow.
  std::optional<int> return_line;
};

/// Walks the control flow graph of `body`, including exception handlers.
/// @param local_index  index into localsplus (CensusLocalRecord::index)
/// @param offset       byte offset of the frame's current instruction, or of one of its inline caches. If it stores the
/// variable, the store has happened: the interpreter fills the slot before it drops the old value, and only that drop
/// can run other code. Negative: the frame has not started.
/// @return kBadInput if the bytes are not code of a supported version, or if the arguments do not fit the code.
/// Thread-safe; the time is linear in the code's length.
Expected<VariableFlow> variable_flow(const CodeBody& body, int local_index, int offset);

}  // namespace dcmt::recorder
