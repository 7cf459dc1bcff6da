// Texts for tables: comparisons of ranks, and of two runs.
#pragma once

#include <vector>

#include "analyzer/compare/difference.h"
#include "gui/models/table_model.h"
#include "render/load/comparison.h"
#include "render/load/ranks.h"

namespace dcmt::gui::words {

/// Columns of `ranks`: rank, device, peak, step, peak without what is kept for nothing, gathers, steps, findings, lost.
[[nodiscard]] std::vector<TableModel::ColumnOf> rank_columns();
[[nodiscard]] std::vector<TableModel::Row> ranks(const load::Ranks& ranks);
/// Rows of two cells: the differences between the ranks. The id is the first rank concerned; -1: none.
[[nodiscard]] std::vector<TableModel::Row> rank_differences(const load::Ranks& ranks);

/// Columns of `difference`: what, change, share, where, before, after.
[[nodiscard]] std::vector<TableModel::ColumnOf> difference_columns();
/// The row that explains most is first. The id is a step's number; -1: none.
[[nodiscard]] std::vector<TableModel::Row> difference(const load::Comparison& comparison);

}  // namespace dcmt::gui::words
