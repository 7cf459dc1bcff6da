// Names in generated wrappers that are never deleted, found by analyzer/generated/undeleted_names.py.
#pragma once

#include <string>
#include <vector>

#include "analyzer/generated/linted.h"
#include "trace/base/status.h"

namespace dcmt::cli {

using analyzer::UndeletedName;
using analyzer::UndeletedStorage;

/// The result for one file.
struct ReadWrapper {
  bool generated = false;  ///< false: the file is not a wrapper by Inductor
  std::string error;       ///< why Python cannot parse the file; empty: it can
  std::vector<UndeletedStorage> storages;
};

/// Has `python` (searched in PATH) parse the files. Their code is never executed. One entry for each file, in order.
/// @param first_argument  patterns of operators whose result is their first argument: "mylib::wait_*"
/// Fails with kCannotRecord if that Python cannot be started.
[[nodiscard]] Expected<std::vector<ReadWrapper>> undeleted_names(const std::string& python,
                                                                 const std::vector<std::string>& files,
                                                                 const std::vector<std::string>& first_argument);

}  // namespace dcmt::cli
