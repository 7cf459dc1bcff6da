// Upgrades a trace from one schema version to the next: an ordered list of SQL texts, one per version.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

/// 'DCMT', at offset 68 of the file, where file(1) finds it.
inline constexpr std::int32_t kApplicationId = 0x44434D54;

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
