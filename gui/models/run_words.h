// Ranks beside each other and two runs beside each other as texts, for tables.
#pragma once

#include <vector>

#include "analyzer/compare/difference.h"
#include "gui/load/comparison.h"
#include "gui/load/ranks.h"
#include "gui/models/table_model.h"

namespace dcmt::gui::words {

/// Of `ranks`: rank, device, peak, step, peak without what is kept for nothing, gathers, steps, findings, lost.
[[nodiscard]] std::vector<TableModel::ColumnOf> rank_columns();
[[nodiscard]] std::vector<TableModel::Row> ranks(const load::Ranks& ranks);
/// Rows of two cells: what differs between the ranks, and how. The id is the first rank that it is about, -1: none.
[[nodiscard]] std::vector<TableModel::Row> rank_differences(const load::Ranks& ranks);

/// Of `difference`: what, change, share, where, before, after.
[[nodiscard]] std::vector<TableModel::ColumnOf> difference_columns();
/// What explains most comes first. The id is a step's number, -1: none.
[[nodiscard]] std::vector<TableModel::Row> difference(const load::Comparison& comparison);

}  // namespace dcmt::gui::words
