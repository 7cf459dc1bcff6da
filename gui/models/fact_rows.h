// Common parts of panels that list properties: rows of two cells, places in the program, holders.
#pragma once

#include <QString>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/model/holders.h"
#include "analyzer/model/values.h"
#include "gui/models/table_model.h"

namespace dcmt::gui::words {

/// The maximum of rows shown for a long list; the number of the others is shown.
inline constexpr std::size_t kMostFacts = 12;

/// Adds a property and its value, unless the value is empty.
void add(std::vector<TableModel::Row>& rows, const char* label, const QString& value);
/// "model.py:41 forward", with a short name of the file.
[[nodiscard]] QString site(std::string_view all);
/// "aten::mul at model.py:41 forward".
[[nodiscard]] QString place(const model::Actor& by);
/// "model.py:41 forward"
[[nodiscard]] QString frame(std::string_view file, std::int64_t line, std::string_view function);
/// Adds the holders with the lines of each name, and the sum of references.
void add_holders(std::vector<TableModel::Row>& rows, const analyzer::Holders& holders);

}  // namespace dcmt::gui::words
