// Inductor's generated Python wrappers, read as text: second names of a storage that no `del` takes away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::analyzer {

/// Operators whose result is their first argument though no text says so: waits and releases. "mylib::wait_*".
struct FirstArgumentOperators {
  std::vector<std::string> patterns;
};

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

/// True if the text is a wrapper that Inductor wrote.
[[nodiscard]] bool is_generated_wrapper(std::string_view text);

/// Storages with several names, of which at least one is neither deleted nor returned, though calls come after the last
/// use. In the order of the text.
[[nodiscard]] std::vector<UndeletedStorage> undeleted_storages(std::string_view text,
                                                               const FirstArgumentOperators& operators);

}  // namespace dcmt::analyzer
