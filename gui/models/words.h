// Values of the report model as texts. Texts of a trace are data: they are shown only as plain text.
#pragma once

#include <QString>

#include <cstdint>
#include <string_view>

#include "analyzer/model/findings.h"
#include "analyzer/model/report.h"
#include "analyzer/model/views.h"

namespace dcmt::gui::words {

[[nodiscard]] QString text(std::string_view text);
/// "12,655,108"
[[nodiscard]] QString number(std::int64_t number);
/// "12.1 MiB"
[[nodiscard]] QString bytes(std::int64_t bytes);
/// "12,655,108 B"
[[nodiscard]] QString exact_bytes(std::int64_t bytes);
/// "1.250 ms"
[[nodiscard]] QString time(std::int64_t ns);
/// "1 RELEASE KEEPS STORAGE"
[[nodiscard]] QString title(const model::ReportedFinding& finding);

/// Adds a row of two cells, a property and its value, unless the value is empty.
void add(std::vector<TableModel::Row>& rows, std::string_view label, const QString& value);
/// Such rows.
[[nodiscard]] std::vector<TableModel::Row> facts(const model::ReportedFinding& finding, const model::Report& report);
[[nodiscard]] std::vector<TableModel::Row> facts(const model::StorageView& storage);
/// A device's peak and its composition.
[[nodiscard]] std::vector<TableModel::Row> facts(const model::DevicePeak& peak, const model::Report& report);

/// Rows of four cells: sequence, time after the start, event, originator.
[[nodiscard]] std::vector<TableModel::Row> story(const model::StorageView& storage);
/// Rows of four cells: bytes, share, blocks, name.
[[nodiscard]] std::vector<TableModel::Row> groups(const model::Groups& groups);

}  // namespace dcmt::gui::words
