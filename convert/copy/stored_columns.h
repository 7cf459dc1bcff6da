// Which columns of a table can be copied from one trace to another.
#pragma once

#include <string>
#include <vector>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

struct StoredColumn {
  std::string name;
  bool is_text = false;
};

/// Those that both have and that are stored, not generated; an older trace lacks some.
Expected<std::vector<StoredColumn>> stored_columns(Database& source, Database& copy, const std::string& table);

}  // namespace dcmt::convert
