// Names in generated wrappers that nothing deletes, as analyzer/generated/undeleted_names.py finds them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::cli {

/// A name that is not deleted between the last use of what it names and the return.
struct UndeletedName {
  std::string name;
  std::int64_t line = 0;         ///< of its assignment
  std::string statement;         ///< that assignment
  std::string aliases;           ///< the name that it repeats; empty: it was the first one
  std::int64_t delete_line = 0;  ///< after this line it could be deleted: its own last use
};

/// One storage that lives to the return through such names.
struct UndeletedStorage {
  std::string function;  ///< "Runner.call"
  std::int64_t line = 0;
  std::string statement;             ///< that made it; of an argument the line that unpacks it
  std::string call;                  ///< "mylib::allgather_param", if an operator made it
  std::vector<std::string> deleted;  ///< names of it that are deleted
  std::vector<UndeletedName> names;
  std::int64_t last_use = 0;  ///< of any of its names
  std::int64_t return_line = 0;
  std::int64_t calls_after = 0;              ///< between the two
  std::optional<std::int64_t> release_line;  ///< of the first call with "release" in its name and the same numbers
};

/// What became of one file.
struct ReadWrapper {
  bool generated = false;  ///< false: the file is no wrapper that Inductor wrote
  std::string error;       ///< why Python cannot parse it; empty: it can
  std::vector<UndeletedStorage> storages;
};

/// Has `python` (searched in PATH) parse the files; nothing of them is executed. One entry for each file, in order.
/// @param first_argument  patterns of operators whose result is their first argument: "mylib::wait_*"
/// Fails with kCannotRecord where that Python cannot be started.
[[nodiscard]] Expected<std::vector<ReadWrapper>> undeleted_names(const std::string& python,
                                                                 const std::vector<std::string>& files,
                                                                 const std::vector<std::string>& first_argument);

}  // namespace dcmt::cli
