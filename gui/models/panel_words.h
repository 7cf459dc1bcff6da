// Texts for tables: holders, releases, growth, what autograd saved, facts of the run.
#pragma once

#include <vector>

#include "analyzer/model/holders_view.h"
#include "analyzer/model/report.h"
#include "analyzer/model/saved_view.h"
#include "analyzer/model/views.h"
#include "gui/models/table_model.h"
#include "render/scene/addresses.h"

namespace dcmt::gui::words {

/// The maximum of rows made for a long table. A last row has the number of the others.
inline constexpr std::size_t kMostTableRows = 20000;

/// Columns: path, type, bytes, bytes freed if only this container is emptied, storages.
[[nodiscard]] std::vector<TableModel::ColumnOf> container_columns();
[[nodiscard]] std::vector<TableModel::Row> containers(const model::HoldersView& view);
/// Columns: path, bytes, storages, found, still.
[[nodiscard]] std::vector<TableModel::ColumnOf> path_columns();
[[nodiscard]] std::vector<TableModel::Row> paths(const model::HoldersView& view);
/// "finding 1: 156 storages, 40,894,464 B; ..."
[[nodiscard]] QString holders_title(const model::HoldersView& view);

/// Columns: seq, step, parameter, uses left, verdict, bytes before, after, gone. The id is the sequence number.
[[nodiscard]] std::vector<TableModel::ColumnOf> release_columns();
[[nodiscard]] std::vector<TableModel::Row> releases(const model::ReleasesView& view);

/// Columns: step, bytes born in it that outlive it, storages, bytes one step later, storages then, place of most of
/// them. The id is a storage; 0: none.
[[nodiscard]] std::vector<TableModel::ColumnOf> survivor_columns();
[[nodiscard]] std::vector<TableModel::Row> survivors(const model::Report& report);

/// Columns: node, field, bytes, bytes that are also elsewhere, storages, holder of the graph.
[[nodiscard]] std::vector<TableModel::ColumnOf> saved_columns();
[[nodiscard]] std::vector<TableModel::Row> saved(const model::SavedView& view);

/// Columns: address, bytes, bytes in blocks, blocks, largest gap. The id is 1 + the lifetime of the first block; 0:
/// none.
[[nodiscard]] std::vector<TableModel::ColumnOf> stretch_columns();
[[nodiscard]] std::vector<TableModel::Row> stretches(const std::vector<scene::StretchAt>& stretches);
/// "12,582,912 B of 33,554,432 B that blocks ever lay in, 3 stretches, 12 blocks · largest gap 4,194,304 B".
[[nodiscard]] QString stretches_title(const std::vector<scene::StretchAt>& stretches);

/// Rows of two cells: what was recorded, how much of it, and what is missing for which reason.
[[nodiscard]] std::vector<TableModel::Row> run(const model::Report& report);

}  // namespace dcmt::gui::words
