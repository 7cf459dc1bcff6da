// Texts for the panels of the selection: a finding, a storage, a device's peak.
#pragma once

#include <vector>

#include "analyzer/model/report.h"
#include "analyzer/model/views.h"
#include "gui/models/table_model.h"

namespace dcmt::gui::words {

/// Rows of two cells: a property and its value.
[[nodiscard]] std::vector<TableModel::Row> facts(const model::Finding& finding, const model::Report& report);
[[nodiscard]] std::vector<TableModel::Row> facts(const model::StorageView& storage);
/// A device's peak and its composition.
[[nodiscard]] std::vector<TableModel::Row> facts(const model::DevicePeak& peak, const model::Report& report);

/// Rows of four cells: sequence, time after the start, event, originator.
[[nodiscard]] std::vector<TableModel::Row> story(const model::StorageView& storage);
/// Rows of four cells: bytes, share, blocks, name.
[[nodiscard]] std::vector<TableModel::Row> groups(const model::Groups& groups);

}  // namespace dcmt::gui::words
