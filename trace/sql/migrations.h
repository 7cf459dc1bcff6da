// How a trace gets from one schema version to the next: an ordered list of SQL texts, one per version.
#pragma once

#include <span>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

struct Migration {
  int version;           ///< the user_version of the file after it
  std::string_view sql;  ///< from version - 1 to version
};

/// The schema's own list: trace/sql/0001.sql and later, ascending, without a gap.
std::span<const Migration> embedded_migrations();

/// Applies every migration beyond the file's user_version, each in its own transaction together with the new
/// user_version and the application id, so that a kill leaves a whole version behind.
Status apply_migrations(Database& database, std::span<const Migration> migrations);

}  // namespace dcmt
