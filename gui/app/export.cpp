#include "gui/app/export.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPixmap>

#include "gui/app/main_window.h"
#include "gui/app/more_panels.h"
#include "gui/models/words.h"
#include "gui/widgets/holder_graph.h"
#include "gui/widgets/story_view.h"
#include "gui/widgets/strip_chart.h"
#include "gui/widgets/strip_panel.h"
#include "gui/widgets/timeline.h"

namespace dcmt::gui {
namespace {

QJsonArray json_of(const scene::Box& box) { return {box.x, box.y, box.width, box.height}; }

/// All bytes are below 2^53, so no value is rounded.
QJsonValue number(std::int64_t value) { return static_cast<double>(value); }

QJsonArray json_of(const TableModel& model) {
  QJsonArray rows;
  for (int row = 0; row < model.rowCount(); ++row) {
    QJsonArray cells;
    for (int column = 0; column < model.columnCount(); ++column) {
      cells.append(model.data(model.index(row, column), Qt::DisplayRole).toString());
    }
    rows.append(cells);
  }
  return rows;
}

QJsonObject timeline_json(const load::DeviceTimeline& device, const scene::Facts& facts) {
  QJsonArray texts;
  for (const scene::TextOf& text : facts.texts()) {
    texts.append(QJsonObject{{"box", json_of(text.box)}, {"text", words::text(text.text)}});
  }
  QJsonArray bars;
  for (const scene::BarOf& bar : facts.bars) {
    const analyzer::Block& block = device.block_of(bar.lifetime);
    const scene::Lifetime& lifetime = device.recording().lifetimes()[bar.lifetime];
    const std::int64_t finding = device.finding_of(bar.lifetime);
    bars.append(QJsonObject{{"box", json_of(bar.box)},
                            {"block", number(block.id.value)},
                            {"storage", number(block.storage.value)},
                            {"bytes", number(lifetime.bytes)},
                            {"finding", number(finding)}});
  }
  QJsonArray columns;
  for (std::size_t i = 0; i < facts.columns.size(); ++i) {
    const scene::CurveColumn& column = facts.curve[i];
    QJsonObject json{{"from_seq", number(device.sequence_of(facts.columns[i].from).value)},
                     {"lowest_bytes", number(column.lowest)},
                     {"highest_bytes", number(column.highest)},
                     {"highest_seq", number(device.sequence_of(column.highest_at).value)}};
    QJsonObject groups;
    for (std::size_t group = 0; group < scene::kGroups; ++group) {
      if (facts.groups[i][group] == 0) continue;
      const auto& names = device.document().groups;
      const QString name = group < names.size() ? words::text(names[group]) : QStringLiteral("others");
      groups[name] = number(facts.groups[i][group]);
    }
    json["groups"] = groups;
    if (!facts.without.empty()) {
      json["without_bytes"] = number(facts.without[i].highest);
      json["dead_bytes"] = number(facts.dead[i]);
    }
    if (!facts.reserved.empty() && facts.reserved[i] >= 0) json["reserved_bytes"] = number(facts.reserved[i]);
    columns.append(json);
  }
  QJsonArray arrows;
  for (const scene::ArrowOf& arrow : facts.arrows) {
    arrows.append(QJsonObject{{"line", json_of(arrow.line)},
                              {"holder_storage", number(device.block_of(arrow.holder).storage.value)},
                              {"held_storage", number(device.block_of(arrow.held).storage.value)}});
  }
  return {{"chart", json_of(facts.chart)}, {"texts", texts}, {"bars", bars}, {"columns", columns}, {"arrows", arrows}};
}

QJsonObject strips_json(StripChart& chart) {
  const scene::StripFacts& facts = chart.facts();
  QJsonArray texts;
  for (const scene::TextOf& text : facts.texts)
    texts.append(QJsonObject{{"box", json_of(text.box)}, {"text", words::text(text.text)}});
  QJsonArray rows;
  for (std::size_t i = 0; i < facts.rows.size(); ++i) {
    QJsonArray columns;
    for (const std::int64_t value : facts.columns[i]) columns.append(number(value));
    rows.append(QJsonObject{{"box", json_of(facts.rows[i])}, {"columns", columns}});
  }
  QJsonObject json{{"chart", json_of(facts.chart)}, {"texts", texts}, {"rows", rows}};
  if (chart.current()) json["current"] = number(static_cast<std::int64_t>(*chart.current()));
  return json;
}

}  // namespace

bool write_picture(MainWindow& window, const QString& path) { return window.grab().save(path, "PNG"); }

bool write_facts(MainWindow& window, const QString& path) {
  const QString message = window.message();
  window.read_addresses_now(false);
  const auto [first_paint, complete] = window.timing();
  QJsonObject document{{"version", 1},
                       {"message", message},
                       {"timing", QJsonObject{{"first_paint_ms", first_paint}, {"complete_ms", complete}}}};
  if (const SessionPointer& session = window.session()) {
    document["path"] = words::text(session->path);
    document["link"] = text_of(window.link());
    const load::DeviceTimeline& device = *window.timeline().device();
    document["device"] = words::text(device.name());
    document["timeline"] = timeline_json(device, window.timeline().facts());
    if (const auto point = window.selection().point()) document["point_seq"] = number(device.sequence_of(*point).value);
    if (device.shown() != nullptr) document["without_peak_bytes"] = number(device.shown()->peak.value);
  }
  if (window.ranks() != nullptr) document["rank_curves"] = strips_json(window.rank_panel().chart());
  if (window.comparison() != nullptr) document["comparison_curves"] = strips_json(window.compare_panel().chart());
  window.more().fill_all();
  QJsonArray nodes;
  for (const scene::TextOf& text : window.more().graph().facts().texts) nodes.append(words::text(text.text));
  document["holder_graph"] = nodes;
  QJsonArray holds;
  for (const scene::StoryChart::Arrow& arrow : window.more().chart().story().arrows) {
    const auto& bars = window.more().chart().story().bars;
    holds.append(QJsonArray{words::text(bars[arrow.holder].name), words::text(bars[arrow.held].name)});
  }
  document["holds"] = holds;
  QJsonObject panels;
  for (const auto& [name, model] : window.tables()) panels[name] = json_of(*model);
  document["panels"] = panels;
  QFile file(path);
  const QByteArray json = QJsonDocument(document).toJson(QJsonDocument::Compact) + '\n';
  return file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(json) == json.size() && file.flush();
}

}  // namespace dcmt::gui
