#include "trace/sql/migrations.h"

#include <string>

namespace dcmt {

Status apply_migrations(Database& database, std::span<const Migration> migrations) {
  DCMT_ASSIGN_OR_RETURN(Statement query, database.prepare("PRAGMA user_version"));
  DCMT_RETURN_IF_ERROR(query.step().status());
  const std::int64_t current = query.integer(0);
  query.reset();

  for (const Migration& migration : migrations) {
    if (migration.version <= current) continue;
    std::string script = "BEGIN IMMEDIATE;\n";
    script += migration.sql;
    script += "\n;PRAGMA application_id = " + std::to_string(kApplicationId);
    script += ";\nPRAGMA user_version = " + std::to_string(migration.version) + ";\nCOMMIT;";
    if (Status status = database.execute(script); !status.ok()) {
      // The failed script may have left its transaction open. A failing rollback is ignored: nothing else can be done.
      static_cast<void>(database.execute("ROLLBACK"));
      return status;
    }
  }
  return {};
}

}  // namespace dcmt
