#include "gui/models/panel_words.h"

#include <algorithm>

#include "gui/models/words.h"
#include "render/wording/holder_words.h"
#include "render/wording/story_words.h"
#include "trace/base/quantities.h"

namespace dcmt::gui::words {
namespace {

using RowList = std::vector<TableModel::Row>;

double order_of(std::int64_t value) { return static_cast<double>(value); }

QString dash(const std::optional<Bytes>& bytes) { return bytes ? exact_bytes(bytes->value) : QStringLiteral("-"); }

/// The last row of a truncated table.
template <class List>
void add_rest(RowList& rows, const List& all, std::size_t columns, const char* command) {
  if (all.size() <= rows.size()) return;
  TableModel::Row row;
  row.cells.resize(columns);
  row.cells[0] = QStringLiteral("and %1 more: %2").arg(all.size() - rows.size()).arg(QLatin1String(command));
  row.order.assign(columns, -1);
  rows.push_back(std::move(row));
}

QString parameter(const model::Release& release) {
  const QString key = QStringLiteral("id ") + QString::number(release.key().key);
  const std::string graph = release.graph_name();
  return graph.empty() ? key : text(graph) + QLatin1Char(' ') + key;
}

}  // namespace

std::vector<TableModel::ColumnOf> container_columns() {
  return {{QStringLiteral("container")},
          {QStringLiteral("type")},
          {QStringLiteral("bytes"), true},
          {QStringLiteral("freed if only this is emptied"), true},
          {QStringLiteral("storages"), true}};
}

std::vector<TableModel::Row> containers(const model::HoldersView& view) {
  RowList rows;
  for (const model::HoldingContainer& each : view.containers) {
    rows.push_back({{text(wording::placed(each.path, each.place)), text(each.type), exact_bytes(each.bytes.value),
                     exact_bytes(each.alone.value), number(each.storages)},
                    {0, 0, order_of(each.bytes.value), order_of(each.alone.value), order_of(each.storages)},
                    0});
  }
  return rows;
}

std::vector<TableModel::ColumnOf> path_columns() {
  return {{QStringLiteral("held by")},
          {QStringLiteral("bytes"), true},
          {QStringLiteral("storages"), true},
          {QStringLiteral("found")},
          {QStringLiteral("still")}};
}

std::vector<TableModel::Row> paths(const model::HoldersView& view) {
  RowList rows;
  for (std::size_t i = 0; i < view.paths.size() && i < kMostTableRows; ++i) {
    const model::HoldingPath& each = view.paths[i];
    rows.push_back({{text(wording::placed(each.path, each.place)) +
                         (each.confirmed ? QString() : QStringLiteral("   (changed while it was read)")),
                     exact_bytes(each.bytes.value), number(each.storages), text(wording::reading_text(each.found)),
                     text(wording::reading_text(each.still))},
                    {0, order_of(each.bytes.value), order_of(each.storages), 0, 0},
                    0});
  }
  add_rest(rows, view.paths, path_columns().size(), "dc-memtrace show holders --json");
  return rows;
}

QString holders_title(const model::HoldersView& view) {
  QString title = QStringLiteral("%1: %2 storages, %3 · the memory was read %4 times")
                      .arg(text(view.of), number(view.storages), exact_bytes(view.bytes.value), number(view.readings));
  if (view.later > 0)
    title += QStringLiteral(" · %1 (%2) made after the last reading")
                 .arg(number(view.later), exact_bytes(view.later_bytes.value));
  if (view.not_found > 0) {
    title += QStringLiteral(" · to %1 (%2) no reading found a path")
                 .arg(number(view.not_found), exact_bytes(view.not_found_bytes.value));
  }
  return title;
}

std::vector<TableModel::ColumnOf> release_columns() {
  return {{QStringLiteral("seq"), true},   {QStringLiteral("step"), true},
          {QStringLiteral("parameter")},   {QStringLiteral("left"), true},
          {QStringLiteral("verdict")},     {QStringLiteral("bytes before"), true},
          {QStringLiteral("after"), true}, {QStringLiteral("next activity"), true},
          {QStringLiteral("gone")}};
}

std::vector<TableModel::Row> releases(const model::ReleasesView& view) {
  RowList rows;
  for (std::size_t i = 0; i < view.releases.size() && i < kMostTableRows; ++i) {
    const model::Release each = view.releases[i];
    const model::Mark mark = each.release();
    rows.push_back(
        {{number(mark.at.seq.value), each.step() ? QString::number(*each.step()) : QStringLiteral("-"), parameter(each),
          each.remaining() ? QString::number(*each.remaining()) : QStringLiteral("-"),
          text(wording::verdict_text(each.verdict())), dash(each.bytes_before()), dash(each.bytes_after()),
          dash(each.bytes_settled()), text(wording::gone_after(each))},
         {order_of(mark.at.seq.value), order_of(each.step().value_or(-1)), 0, order_of(each.remaining().value_or(-1)),
          0, order_of(each.bytes_before().value_or(Bytes(-1)).value),
          order_of(each.bytes_after().value_or(Bytes(-1)).value),
          order_of(each.bytes_settled().value_or(Bytes(-1)).value), 0},
         mark.at.seq.value});
  }
  add_rest(rows, view.releases, release_columns().size(), "dc-memtrace show releases --json");
  return rows;
}

std::vector<TableModel::ColumnOf> survivor_columns() {
  return {{QStringLiteral("step"), true},          {QStringLiteral("outlives it"), true},
          {QStringLiteral("storages"), true},      {QStringLiteral("a step later"), true},
          {QStringLiteral("storages then"), true}, {QStringLiteral("most of them from")}};
}

std::vector<TableModel::Row> survivors(const model::Report& report) {
  RowList rows;
  for (std::size_t i = 0; i < report.survivors.size() && i < kMostTableRows; ++i) {
    const model::Survivors each = report.survivors[i];
    const model::SurvivorSite* most = each.sites.empty() ? nullptr : &each.sites.front();
    rows.push_back({{QString::number(each.step), exact_bytes(each.bytes.value), number(each.storages),
                     dash(each.bytes_next), each.storages_next ? number(*each.storages_next) : QStringLiteral("-"),
                     most != nullptr ? text(most->site) + QStringLiteral("   ") + bytes(most->bytes.value) : QString()},
                    {order_of(each.step), order_of(each.bytes.value), order_of(each.storages),
                     order_of(each.bytes_next.value_or(Bytes(-1)).value), order_of(each.storages_next.value_or(-1)), 0},
                    most != nullptr && most->largest_storage ? most->largest_storage->value : 0});
  }
  add_rest(rows, report.survivors, survivor_columns().size(), "dc-memtrace report --json");
  return rows;
}

std::vector<TableModel::ColumnOf> saved_columns() {
  return {{QStringLiteral("node")},           {QStringLiteral("field")},
          {QStringLiteral("bytes"), true},    {QStringLiteral("elsewhere too"), true},
          {QStringLiteral("storages"), true}, {QStringLiteral("graph held by")}};
}

std::vector<TableModel::Row> saved(const model::SavedView& view) {
  RowList rows;
  for (const model::SavedField& each : view.fields) {
    QString holders;
    for (const std::string& holder : each.holders)
      holders += (holders.isEmpty() ? QString() : QStringLiteral(", ")) + text(holder);
    rows.push_back({{text(each.node), text(each.field), exact_bytes(each.bytes.value),
                     exact_bytes(each.elsewhere.value), number(each.storages), holders},
                    {0, 0, order_of(each.bytes.value), order_of(each.elsewhere.value), order_of(each.storages), 0},
                    0});
  }
  return rows;
}

std::vector<TableModel::Row> run(const model::Report& report) {
  const analyzer::RunFacts& facts = report.facts;
  RowList rows;
  add(rows, "command", text(facts.command));
  add(rows, "state", text(facts.state));
  add(rows, "exit", text(facts.exit));
  if (facts.rank >= 0) add(rows, "rank", QStringLiteral("%1 of %2").arg(facts.rank).arg(facts.world_size));
  add(rows, "torch", text(facts.torch));
  add(rows, "python", text(facts.python));
  add(rows, "detail", text(facts.detail));
  if (facts.seconds) add(rows, "recorded", QString::number(*facts.seconds, 'f', 3) + QStringLiteral(" s"));
  if (facts.recorder_cores)
    add(rows, "recorder", QString::number(*facts.recorder_cores, 'f', 2) + QStringLiteral(" cores"));
  if (facts.records) add(rows, "records", number(*facts.records));
  add(rows, "lost records", number(facts.lost));
  for (const analyzer::LossFact& loss : facts.losses)
    add(rows, "lost", text(loss.reason) + QStringLiteral(": ") + number(loss.count));
  if (facts.sequence_gaps && *facts.sequence_gaps > 0)
    add(rows, "missing", number(*facts.sequence_gaps) + QStringLiteral(" records that the order of all has"));
  add(rows, "steps", number(facts.steps));
  if (facts.steps_kept != facts.steps) {
    add(rows, "steps kept", number(facts.steps_kept) + QStringLiteral(" in full; of the others there are sums only"));
  }
  for (const analyzer::KeptFact& kept : facts.kept) {
    if (kept.steps > 0) add(rows, "kept", number(kept.steps) + QStringLiteral(" steps: ") + text(text_of(kept.why)));
  }
  if (report.releases.total > 0) {
    const model::Totals& totals = report.releases;
    add(rows, "releases", number(totals.total));
    const std::pair<const char*, std::int64_t> each[] = {{"freed", totals.freed},
                                                         {"freed late", totals.late},
                                                         {"never freed", totals.never},
                                                         {"freed early", totals.early},
                                                         {"counted", totals.counted},
                                                         {"persistent", totals.persistent},
                                                         {"no gather", totals.no_gather},
                                                         {"shared", totals.shared},
                                                         {"recycled", totals.recycled},
                                                         {"untracked", totals.untracked},
                                                         {"not known", totals.unknown},
                                                         {"residual", totals.residual},
                                                         {"metadata only", totals.metadata_only}};
    for (const auto& [what, value] : each) {
      if (value > 0) add(rows, "releases", QString::fromUtf8(what) + QStringLiteral(": ") + number(value));
    }
  }
  if (facts.releases_with_bytes > 0) {
    add(rows, "references counted",
        QStringLiteral("at %1 of %2 releases that left bytes")
            .arg(number(facts.censuses), number(facts.releases_with_bytes)));
    add(rows, "unexplained references", number(facts.unexplained));
  }
  for (const analyzer::DiagnosticFact& each : facts.diagnostics) {
    add(rows, "note", text(each.text) + (each.count > 1 ? QStringLiteral(" (%1 times)").arg(each.count) : QString()));
  }
  for (const analyzer::Remark& remark : report.remarks) add(rows, "remark", text(remark.text()));
  return rows;
}

std::vector<TableModel::ColumnOf> stretch_columns() {
  return {{QStringLiteral("from")},
          {QStringLiteral("bytes"), true},
          {QStringLiteral("in blocks"), true},
          {QStringLiteral("blocks"), true},
          {QStringLiteral("largest gap"), true}};
}

RowList stretches(const std::vector<scene::StretchAt>& stretches) {
  RowList rows;
  for (const scene::Occupied* each : scene::occupied(stretches)) {
    const auto blocks = static_cast<std::int64_t>(each->live.size());
    rows.push_back({{text(scene::address_text(each->addresses.from)), exact_bytes(each->addresses.bytes()),
                     exact_bytes(each->used), number(blocks), exact_bytes(each->largest_gap)},
                    {static_cast<double>(each->addresses.from), order_of(each->addresses.bytes()), order_of(each->used),
                     order_of(blocks), order_of(each->largest_gap)},
                    each->live.empty() ? 0 : qint64{each->live.front()} + 1});
  }
  return rows;
}

QString stretches_title(const std::vector<scene::StretchAt>& stretches) {
  const std::vector<const scene::Occupied*> all = scene::occupied(stretches);
  // The size of the whole address space does not fit into a number.
  scene::Address bytes = 0;
  scene::Address used = 0;
  std::int64_t largest = 0;
  std::size_t blocks = 0;
  for (const scene::Occupied* each : all) {
    bytes += static_cast<scene::Address>(each->addresses.bytes());
    used += static_cast<scene::Address>(each->used);
    largest = std::max(largest, each->largest_gap);
  }
  for (const scene::StretchAt& each : stretches) blocks += each.live.size();
  const auto counted = [](std::size_t many, const char* one, const char* more) {
    return number(static_cast<std::int64_t>(many)) + QLatin1Char(' ') + QLatin1String(many == 1 ? one : more);
  };
  const bool known = !stretches.empty() && stretches.front().segments;
  return QStringLiteral("%1 in blocks, of %2 in %3 · %4 · largest gap %5 · %6")
      .arg(exact_bytes(static_cast<std::int64_t>(used)), exact_bytes(static_cast<std::int64_t>(bytes)),
           known ? counted(all.size(), "segment", "segments") : counted(all.size(), "address range", "address ranges"),
           counted(blocks, "block", "blocks"), exact_bytes(largest),
           known ? QStringLiteral("frames are segments, grey is free, what is in none is not reserved")
                 : QStringLiteral("no segments are known: a range is where blocks ever lay"));
}

}  // namespace dcmt::gui::words
