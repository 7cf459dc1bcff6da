// How long the program's own statements have what they make: a variable has its value until its next one.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/growth/growing_sites.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/source/python_source.h"

namespace dcmt::analyzer {

/// Derived from the copied sources of the user's files, and from the lines that make followed storages.
class StatementUse {
 public:
  /// @param growing  something keeps these storages: their ends are not the program's
  StatementUse(const TraceData& data, const GrowingSites& growing);

  /// Where a storage is made, beside a statement of the program.
  struct Beside {
    bool known = false;           ///< false: the stack is incomplete
    std::size_t line = 0;         ///< at which the statement's function is; 0: it has ended
    std::string_view given = {};  ///< the variable to which this line gives a value; empty: unknown
  };
  /// The user's statement that has the value made at a place: that of the innermost frame, or, if this one returns it,
  /// itself or by a variable, of its caller.
  struct Statement {
    const PythonSource* source = nullptr;
    StringId file, function;
    StackId caller;  ///< of its function
    FrameId root;    ///< the outermost frame
    std::size_t line = 0;
    bool direct = false;  ///< no other frame is inside
    bool own = false;     ///< the innermost frame is one of the user's
    /// Where a variable that its function returns had got the value, as a frame of the stack: what that function makes
    /// elsewhere is not on the way to it. Zero: the value is the last that the statement makes.
    StackId given_at = {};
    PythonSource::Fate fate;
    std::set<std::string_view> deleted_with =
        {};  ///< variables that a `del` deletes together with its own, this included
    std::unordered_map<StackId, Beside> beside = {};  ///< of the stacks that were asked for
  };
  /// nullopt: unknown.
  [[nodiscard]] std::optional<Statement> statement_of(StackId stack) const;

  struct Use {
    Sequence until;             ///< zero: to the end of the run
    std::string_view variable;  ///< that has it; empty: none
  };
  /// The use of a storage that the statement made, without anything else that keeps it. nullopt: unknown.
  [[nodiscard]] std::optional<Use> of(Statement& statement, const Storage& storage) const;
  /// The storage that the statement's value replaced when it was given to its variable, or one that ended then, too;
  /// nullptr: unknown.
  [[nodiscard]] const Storage* replaced_by(const Statement& statement, const Storage& value) const;

  /// The user's source and its line at which a frame is; nullptr: there is none.
  [[nodiscard]] std::pair<const PythonSource*, std::size_t> at(const Stack& stack) const;
  [[nodiscard]] const std::map<StringId, PythonSource>& sources() const { return sources_; }
  /// Births and ends of the run's storages, ascending. Empty without sources.
  struct Event {
    Sequence seq;
    const Storage* storage = nullptr;
    bool ends = false;
  };
  using Events = std::vector<Event>;
  [[nodiscard]] const Events& events() const { return events_; }
  /// True if a variable has the storages of a place that its function deletes.
  [[nodiscard]] bool deletes(StackId stack) const;
  /// The variables whose values the storages of a place are, one after the other: the innermost statement makes them.
  [[nodiscard]] std::set<std::string_view> given_values(StackId stack) const;

 private:
  [[nodiscard]] Beside beside(const Statement& statement, StackId stack) const;
  /// True if the stack leads through the line at which the returned variable got the value.
  [[nodiscard]] bool is_on_the_way(const Statement& statement, StackId stack) const;
  [[nodiscard]] const Beside& beside(Statement& statement, const Storage& made) const;
  [[nodiscard]] Events::const_iterator after(Sequence seq) const;
  [[nodiscard]] std::optional<Use> of_value(Statement& statement, const Storage& value) const;

  const TraceData& data_;
  std::map<StringId, PythonSource> sources_;
  Events events_;
  std::set<StorageId> kept_;
};

}  // namespace dcmt::analyzer
