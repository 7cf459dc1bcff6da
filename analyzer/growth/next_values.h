// When what leads to a storage gets another value: variables and attributes of the program, and nodes of its graphs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/growth/rounds.h"
#include "analyzer/growth/statement_use.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Derived from the copied sources of the user's files and from the lines at which the recorded events were. A
/// statement that makes nothing has run when its function has come past it. A statement that has made something has run
/// when its function goes on. Variables of a function end with it.
class NextValues {
 public:
  /// `program` must outlive it.
  NextValues(const TraceData& data, const StatementUse& program);

  struct Changes {
    std::vector<Sequence> at;  ///< ascending
    bool complete = true;      ///< false: one statement may have run several times in a row
  };
  /// Of each variable and attribute of the path that the program's statements give values: when they do. Empty: of
  /// none.
  [[nodiscard]] std::vector<const Changes*> on(std::string_view path);

  /// True if no storage is made or ends between the two.
  [[nodiscard]] bool nothing_between(Sequence from, Sequence to) const;

  /// True if the user's files have no function of this name.
  [[nodiscard]] bool is_library(std::string_view function);

  /// True if a statement of the user's files reads the attribute of an object.
  [[nodiscard]] bool reads_attribute(std::string_view name) const;

  /// When the function that has this variable, "main: x", is in no call any more, from `after` on. Zero: it stays, or
  /// the variable is a module's.
  [[nodiscard]] Sequence end_of_function(std::string_view variable, Sequence after);

  /// When the call of this function that made the storage, itself or by what it called, had ended. Zero: unknown, or it
  /// has made the storage in no such call.
  [[nodiscard]] Sequence end_of_call(std::string_view function, const Storage& storage) const;

  /// When the statement with a line of the user's file had run, each time. Empty: not known of all of them.
  [[nodiscard]] std::vector<Sequence> runs_of(StringId file, std::size_t line);

  /// When backward passes are done with the node of a graph that the path leads to: "MulBackward0" of "main:
  /// loss.grad_fn SumBackward0 → MulBackward0._saved_self". nullptr: it has no such node.
  [[nodiscard]] const Changes* on_node(std::string_view path);

 private:
  using Function = std::pair<StringId, std::size_t>;  ///< a file, and PythonSource's number of the function
  using Statements = std::map<Function, std::vector<std::size_t>>;  ///< numbers of their first lines, ascending
  struct At {
    StackId caller;
    FrameId root;
    std::size_t line = 0;  ///< of the function, with which its statement begins; 0: the function is not there
    std::vector<StackId> inside = {};  ///< of what it has called, the outermost first
  };

  [[nodiscard]] std::set<Function> functions_of(std::string_view name) const;
  const Changes& of_local(std::string_view function, std::string_view name);
  const Changes& of_global(std::string_view name);
  const Changes& of_attribute(std::string_view name);
  /// Then a new object has another value, and the objects that are there keep theirs.
  [[nodiscard]] bool only_constructors_give(std::string_view attribute) const;
  void add_changes(const Function& function, const std::vector<std::size_t>& statements, bool is_local,
                   Changes& changes);
  [[nodiscard]] At at(const Function& function, StackId stack) const;
  /// True if a loop leads to the function, by its callers.
  [[nodiscard]] bool is_called_in_loop(const At& at) const;
  /// True if a function that both have inside has begun anew in between. nullopt: it may have.
  [[nodiscard]] std::optional<bool> begins_anew(const At& before, const At& after) const;
  [[nodiscard]] const Statements& giving(const std::map<std::string_view, Statements>& by_name,
                                         std::string_view name) const;

  const TraceData& data_;
  const StatementUse& program_;
  std::map<std::string_view, Statements> variables_, attributes_;  ///< what gives them values
  std::map<std::string, Changes, std::less<>> changes_;
  /// Of functions that were asked for: from when on each was in a call, or in none.
  std::map<std::string, std::vector<std::pair<Sequence, bool>>, std::less<>> calls_;
  std::map<std::string, bool, std::less<>> libraries_;  ///< by function
  std::size_t visited_ = 0;                             ///< events, so far
  const Rounds backwards_;
  std::map<std::string, Changes, std::less<>> nodes_;  ///< those that were asked for
};

}  // namespace dcmt::analyzer
