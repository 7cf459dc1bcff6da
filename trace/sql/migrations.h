// Upgrades a trace from one schema version to the next: an ordered list of SQL texts, one per version.
#pragma once

#include <span>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

struct Migration {
  int version;           ///< the file's user_version after this migration
  std::string_view sql;  ///< upgrades from version - 1 to version
};

/// The migrations of the schema: trace/sql/0001.sql and later, ascending, without a gap.
std::span<const Migration> embedded_migrations();

/// Applies each migration that is newer than the file's user_version, in a transaction of its own that also sets the
/// user_version and the application id. If the process is killed, the file has one complete version.
Status apply_migrations(Database& database, std::span<const Migration> migrations);

}  // namespace dcmt
