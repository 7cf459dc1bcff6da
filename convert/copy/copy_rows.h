// Copies the rows of one table from one trace to another.
#pragma once

#include <functional>
#include <string>

#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/schema.h"

namespace dcmt::convert {

/// A column that both traces have. Older traces lack some columns.
struct StoredColumn {
  std::string name;
  bool is_text = false;
};

/// The rows to copy, and the changes to their values.
struct RowCopy {
  std::string where = "true";  ///< a condition on the source's rows
  /// Binds the parameters of `where`.
  std::function<void(Statement& rows)> bind = [](Statement& /*rows*/) {};
  /// The copy's text for a text of the source. It must be valid until the row is written.
  std::function<std::string_view(std::string_view text)> text = [](std::string_view same) { return same; };
  /// The copy's number for a number of the source.
  std::function<std::int64_t(const StoredColumn& column, std::int64_t number)> number =
      [](const StoredColumn& /*column*/, std::int64_t same) { return same; };
};

/// Does nothing for a table that the source lacks. Fails with kStopped if `watch` stops it.
Status copy_rows(Database& source, Database& copy, const DeclaredTable& declared, const RowCopy& how,
                 const analyzer::Watch& watch);

}  // namespace dcmt::convert
