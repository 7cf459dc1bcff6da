// Statements that may have put storages where they are held, found by the text of the user's source files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct StoringStatement {
  std::string site;  ///< "train.py:11"
  std::string text;  ///< "self.seen.append(out)"

  friend bool operator==(const StoringStatement&, const StoringStatement&) = default;
};

/// Lines of Python code that put something into the container that a path names: calls like `NAME.append(…)`,
/// `NAME[…] = …`, `NAME += …`. NAME is the path's last name: an attribute, "seen" of "main: probe.seen", of whatever
/// object; a local variable, "losses" of "main: losses", in its function only; or a module's variable. What comments
/// and texts say does not count. Empty where the path ends otherwise (a cell, a cache in C).
/// @param site  how the file is named in front of a line's number
[[nodiscard]] std::vector<StoringStatement> storing_statements(std::string_view code, std::string_view site,
                                                               std::string_view holder);

/// Those in the user's files through which the storages were made, as the trace has copied them. What the files do not
/// show is not said; of several nothing says which it was.
[[nodiscard]] std::vector<StoringStatement> stored_by(const TraceData& data, std::string_view holder,
                                                      const std::vector<StackId>& made_at);

}  // namespace dcmt::analyzer
