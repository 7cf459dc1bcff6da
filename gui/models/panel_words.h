// Holders, releases, growth, what autograd saved and the run's facts as texts, for tables.
#pragma once

#include <vector>

#include "analyzer/model/holders_view.h"
#include "analyzer/model/report.h"
#include "analyzer/model/saved_view.h"
#include "analyzer/model/views.h"
#include "gui/models/table_model.h"
#include "gui/scene/addresses.h"

namespace dcmt::gui::words {

/// Rows of a long table that are made; a last row says how many are not.
inline constexpr std::size_t kMostTableRows = 20000;

/// Path, type, bytes, what is freed if only it is emptied, storages.
[[nodiscard]] std::vector<TableModel::ColumnOf> container_columns();
[[nodiscard]] std::vector<TableModel::Row> containers(const model::HoldersView& view);
/// Path, bytes, storages, found, still.
[[nodiscard]] std::vector<TableModel::ColumnOf> path_columns();
[[nodiscard]] std::vector<TableModel::Row> paths(const model::HoldersView& view);
/// "finding 1: 156 storages, 40,894,464 B; ..."
[[nodiscard]] QString holders_title(const model::HoldersView& view);

/// Seq, step, parameter, uses left, verdict, bytes before, after, gone. The id is the sequence number.
[[nodiscard]] std::vector<TableModel::ColumnOf> release_columns();
[[nodiscard]] std::vector<TableModel::Row> releases(const model::ReleasesView& view);

/// Step, bytes born in it that outlive it, storages, bytes one step later, storages then, most of them. The id is a
/// storage, 0: none.
[[nodiscard]] std::vector<TableModel::ColumnOf> survivor_columns();
[[nodiscard]] std::vector<TableModel::Row> survivors(const model::Report& report);

/// Node, field, bytes, of them elsewhere too, storages, graph held by.
[[nodiscard]] std::vector<TableModel::ColumnOf> saved_columns();
[[nodiscard]] std::vector<TableModel::Row> saved(const model::SavedView& view);

/// Address, bytes, in blocks, blocks, largest gap. The id is 1 + the lifetime of the first block, 0: none lives there.
[[nodiscard]] std::vector<TableModel::ColumnOf> stretch_columns();
[[nodiscard]] std::vector<TableModel::Row> stretches(const std::vector<scene::StretchAt>& stretches);
/// "12,582,912 B of 33,554,432 B that blocks ever lay in, 3 stretches, 12 blocks · largest gap 4,194,304 B".
[[nodiscard]] QString stretches_title(const std::vector<scene::StretchAt>& stretches);

/// Rows of two cells: what was recorded, how much of it, what is missing and why.
[[nodiscard]] std::vector<TableModel::Row> run(const model::Report& report);

}  // namespace dcmt::gui::words
