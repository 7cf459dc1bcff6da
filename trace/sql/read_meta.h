// Reads single values of a trace's meta table, by the keys of meta_keys.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

/// nullopt: the trace does not say it, or says no integer.
Expected<std::optional<std::int64_t>> meta_integer(Database& database, std::string_view key);

/// Empty: the trace does not say it.
Expected<std::string> meta_text(Database& database, std::string_view key);

}  // namespace dcmt
