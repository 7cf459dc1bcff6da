#include "trace/sql/read_meta.h"

namespace dcmt {

Expected<std::optional<std::int64_t>> meta_integer(Database& database, std::string_view key) {
  DCMT_ASSIGN_OR_RETURN(Statement query,
                        database.prepare("SELECT value FROM meta WHERE key = ? AND typeof(value) = 'integer'"));
  query.bind(1, key);
  DCMT_ASSIGN_OR_RETURN(const bool has_row, query.step());
  return has_row ? std::optional(query.integer(0)) : std::nullopt;
}

Expected<std::string> meta_text(Database& database, std::string_view key) {
  DCMT_ASSIGN_OR_RETURN(Statement query, database.prepare("SELECT value FROM meta WHERE key = ?"));
  query.bind(1, key);
  DCMT_ASSIGN_OR_RETURN(const bool has_row, query.step());
  return has_row ? std::string(query.text(0)) : std::string();
}

}  // namespace dcmt
