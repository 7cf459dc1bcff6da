// Finds statements that may have put storages where they are held, in the text of the user's source files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct StoringStatement {
  std::string site, text;
  StringId file;  ///< zero: of a text that no trace has
  std::size_t line = 0;

  /// True if both read the same.
  friend bool operator==(const StoringStatement& one, const StoringStatement& other) {
    return one.site == other.site && one.text == other.text;
  }

  static constexpr std::string_view kShape = "storing_statement";
  static void describe(auto&& field) {
    field("site", &StoringStatement::site, "as \"train.py:11\"");
    field("text", &StoringStatement::text, "the line's code");
  }
};

/// Lines of Python code that put something into the container that a path names, by calls like `NAME.append(…)`,
/// `NAME[…] = …` or `NAME += …`. NAME is the last name of the path. An attribute, "seen" of "main: probe.seen", counts
/// for any object; a local variable, "losses" of "main: losses", only in its function; a module's variable counts, too.
/// Of a function's default, put.__defaults__[0], NAME is the parameter. Comments and strings do not count. Empty if the
/// path ends in something else (a cell, a cache in C).
/// @param site  the name of the file, printed before line numbers
[[nodiscard]] std::vector<StoringStatement> storing_statements(std::string_view code, std::string_view site,
                                                               std::string_view holder);

/// Lines that call what leads to the container: an object of the path, by one of its methods, or the function whose
/// default, closure or cache it is. "pending.put(v)" for "main: pending.queue", "put(v)" for "main:
/// put.__defaults__[0]".
[[nodiscard]] std::vector<StoringStatement> calls_on_path(std::string_view code, std::string_view site,
                                                          std::string_view holder);

/// How storages came to be where they are held, in the text of the user's files.
struct Storing {
  std::vector<StoringStatement> statements;  ///< that put them there; of several, nothing shows which one it was
  std::vector<StoringStatement> calls;       ///< of the functions that have these statements
  std::vector<StoringStatement> uses;        ///< statements that use the entries of what they name
};

/// Searches the user's files that the storages' stacks pass through, as copied into the trace; where no statement there
/// names the container, the user's other files; and where none does, calls on the path to it take their place, and
/// those that pass on a function by which the way leads. Files without a copy are not searched.
/// @param way  the path to one of the storages; empty: not known
[[nodiscard]] Storing stored_by(const TraceData& data, std::string_view holder, const std::vector<StackId>& made_at,
                                std::string_view way = {});

/// As above, in all of the user's files that the trace has.
[[nodiscard]] Storing stored_by(const TraceData& data, std::string_view holder);

}  // namespace dcmt::analyzer
