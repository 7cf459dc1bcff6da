// Names in generated wrappers that nothing deletes, as analyzer/generated/undeleted_names.py finds them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/generated/linted.h"
#include "trace/base/status.h"

namespace dcmt::cli {

using analyzer::UndeletedName;
using analyzer::UndeletedStorage;

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
