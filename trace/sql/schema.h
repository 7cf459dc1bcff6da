// The schema of a trace, from the declarations of its tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/tables/columns.h"

namespace dcmt {

/// 'DCMT', at offset 68 of the file, where file(1) finds it.
inline constexpr std::int32_t kApplicationId = 0x44434D54;
/// The newest schema: the one that this build writes. It reads all schemas from 1 on.
inline constexpr int kSchemaVersion = 19;

struct DeclaredTable {
  Table table;
  std::vector<Column> columns;  ///< in the order of the file
};

/// In the order in which a trace gets them.
[[nodiscard]] std::vector<DeclaredTable> declared_tables();

/// "CREATE TABLE …" with the columns of a schema version.
/// @param prefix  of the name: "temp."
[[nodiscard]] std::string create_table_sql(const DeclaredTable& table, int version = kSchemaVersion,
                                           const std::string& prefix = {});

/// The statements that make an empty trace of a schema version.
[[nodiscard]] std::string create_sql(int version = kSchemaVersion);

/// The schema version of a trace.
[[nodiscard]] Expected<int> schema_version(Database& database);

/// Makes the tables of this build's schema in a new file, and adds what the tables of an older schema lack. In one
/// transaction: if the process is killed, the file has one complete version.
[[nodiscard]] Status bring_up_to_date(Database& database);

}  // namespace dcmt
