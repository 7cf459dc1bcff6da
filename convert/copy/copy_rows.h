// The rows of one table, from one trace to another.
#pragma once

#include <functional>
#include <string>

#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

/// A column that both traces have and that is stored, not generated; an older trace lacks some.
struct StoredColumn {
  std::string name;
  bool is_text = false;
};

/// Which rows are copied, and what becomes of their values.
struct RowCopy {
  std::string where = "true";  ///< of the source
  /// Binds what `where` asks for.
  std::function<void(Statement& rows)> bind = [](Statement& /*rows*/) {};
  /// The text that the copy gets for a text, valid until the row is written.
  std::function<std::string_view(std::string_view text)> text = [](std::string_view same) { return same; };
  /// The number that it gets for a number.
  std::function<std::int64_t(const StoredColumn& column, std::int64_t number)> number =
      [](const StoredColumn& /*column*/, std::int64_t same) { return same; };
};

/// Does nothing for a table that the source lacks. Fails with kStopped as `watch` says.
Status copy_rows(Database& source, Database& copy, const std::string& table, const RowCopy& how,
                 const analyzer::Watch& watch);

}  // namespace dcmt::convert
