#include "gui/models/words.h"

#include <algorithm>
#include <string>

#include "analyzer/model/quantities.h"
#include "trace/base/code_path.h"

namespace dcmt::gui::words {
namespace {

using analyzer::MarkKind;
using model::StoryEvent;
using What = StoryEvent::What;

/// Rows of a long list that are shown; the rest is a number.
constexpr std::size_t kMost = 12;

void add(std::vector<TableModel::Row>& rows, const char* label, const QString& value) {
  if (!value.isEmpty()) rows.push_back({{QString::fromUtf8(label), value}, {}, 0});
}

/// A file's name in few letters: those of compilers are long and say nothing.
QString file_name(std::string_view path) {
  constexpr qsizetype kMostLetters = 20;
  QString name = text(short_path(path));
  const qsizetype slash = name.lastIndexOf(QLatin1Char('/')) + 1;
  const qsizetype dot = name.lastIndexOf(QLatin1Char('.'));
  if (dot - slash > kMostLetters) name = name.left(slash + 8) + QStringLiteral("…") + name.mid(dot);
  return name;
}

/// "model.py:41 forward", with a short name of the file.
QString site(std::string_view all) {
  const QString whole = text(all);
  const qsizetype colon = whole.indexOf(QLatin1Char(':'));
  return colon < 0 ? whole : file_name(all.substr(0, all.find(':'))) + whole.mid(colon);
}

QString place(const model::Actor& by) {
  QString who;
  if (by.outer_operator) who = text(*by.outer_operator);
  if (!by.stack.empty()) who += (who.isEmpty() ? QString() : QStringLiteral(" at ")) + site(by.site);
  return who;
}

QString frame(std::string_view file, std::int64_t line, std::string_view function) {
  return file_name(file) + QLatin1Char(':') + QString::number(line) + QLatin1Char(' ') + text(function);
}

void add_path(std::vector<TableModel::Row>& rows, const model::HolderPath& path) {
  QString names;
  for (const model::HolderName& name : path.names) {
    if (name.name) names += (names.isEmpty() ? QString() : QStringLiteral(", ")) + text(*name.name);
  }
  add(rows, "held by", text(path.function.value_or("a frame")) + QStringLiteral(": ") + names);
  for (const model::HolderName& name : path.names) {
    if (!name.line || !path.file) continue;
    QString line = file_name(*path.file) + QLatin1Char(':') + QString::number(*name.line);
    if (name.assignment) line += QStringLiteral("   ") + text(*name.assignment);
    add(rows, path.generated ? "generated" : "line", line);
    if (name.delete_line) {
      add(rows, "deleted", QStringLiteral("line ") + QString::number(*name.delete_line));
    } else if (path.return_line) {
      add(rows, "deleted", QStringLiteral("not before the return, line ") + QString::number(*path.return_line));
    }
  }
  if (path.model_file && path.model_line) {
    QString line = file_name(*path.model_file) + QLatin1Char(':') + QString::number(*path.model_line);
    if (path.model_text) line += QStringLiteral("   ") + text(*path.model_text);
    add(rows, "model's line", line);
  }
}

void add_holders(std::vector<TableModel::Row>& rows, const model::Holders& holders) {
  for (std::size_t i = 0; i < holders.paths.size() && i < kMost; ++i) add_path(rows, holders.paths[i]);
  QString counts;
  for (const model::CountSum& sum : holders.sums) {
    if (!counts.isEmpty()) counts += QStringLiteral(" · ");
    counts += text(name_of(sum.subject)) +
              QStringLiteral(": %1 = %2 explained + %3").arg(sum.count).arg(sum.explained).arg(sum.unexplained);
  }
  add(rows, "counts", counts);
}

QString mark_words(const StoryEvent& event) {
  QString words;
  switch (event.kind) {
    case MarkKind::kGather:
      words = QStringLiteral("gathered");
      break;
    case MarkKind::kWait:
      words = QStringLiteral("waited for");
      break;
    case MarkKind::kPersist:
      words = QStringLiteral("made persistent");
      break;
    case MarkKind::kRead:
      words = QStringLiteral("read");
      break;
    case MarkKind::kTouch:
      words = QStringLiteral("last used by a kernel");
      break;
    case MarkKind::kResize:
      return QStringLiteral("resized to ") + exact_bytes(event.bytes.value_or(Bytes(0)).value);
    case MarkKind::kRepoint:
      words = QStringLiteral("tensor re-pointed");
      break;
    case MarkKind::kRelease:
      words = event.final ? QStringLiteral("released (final)")
                          : QStringLiteral("released (%1 uses left)").arg(event.uses_left);
      break;
    case MarkKind::kCensus:
      words = QStringLiteral("references counted");
      break;
    default:
      words = QStringLiteral("mark");
      break;
  }
  if (event.key) words += QStringLiteral(" · id ") + QString::number(event.key->key);
  if (event.kind == MarkKind::kRelease && event.bytes && event.bytes_after) {
    words += QStringLiteral(": %1 → %2").arg(exact_bytes(event.bytes->value), exact_bytes(event.bytes_after->value));
  }
  return words;
}

QString words_of(const StoryEvent& event) {
  switch (event.what) {
    case What::kFirstSeen:
      return QStringLiteral("first seen");
    case What::kBorn:
      return QStringLiteral("born");
    case What::kLastReference:
      return QStringLiteral("last reference gone");
    case What::kBlockAllocated:
      return QStringLiteral("block of %1 allocated").arg(exact_bytes(event.bytes->value));
    case What::kBlockFreed:
      return QStringLiteral("block of %1 freed").arg(exact_bytes(event.bytes->value));
    case What::kMark:
      break;
  }
  return mark_words(event);
}

QString by_whom(const StoryEvent& event) {
  if (event.what != What::kMark) return place(event.by);
  QString who = text(event.name);
  if (!event.by.stack.empty()) who += (who.isEmpty() ? QString() : QStringLiteral(" at ")) + site(event.by.site);
  return who;
}

}  // namespace

QString text(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
QString bytes(std::int64_t bytes) { return text(model::rounded_bytes(bytes)); }
QString exact_bytes(std::int64_t bytes) { return text(model::exact_bytes(bytes)); }
QString time(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const double ms = static_cast<double>(ns) * 1e-6;
  return ns < 10 * kSecond && ns > -10 * kSecond ? QString::number(ms, 'f', 3) + QStringLiteral(" ms")
                                                 : QString::number(ms * 1e-3, 'f', 6) + QStringLiteral(" s");
}

QString title(const model::Finding& finding) {
  return QString::number(finding.number) + QLatin1Char(' ') + text(finding.title).toUpper();
}

std::vector<TableModel::Row> facts(const model::Finding& finding, const model::Report& report) {
  std::vector<TableModel::Row> rows;
  add(rows, "finding", title(finding));
  add(rows, "bytes", exact_bytes(finding.bytes.value));
  if (finding.dead_at_peak.value > 0) add(rows, "dead at the peak", exact_bytes(finding.dead_at_peak.value));
  if (finding.predicted_peak) add(rows, "peak without it", exact_bytes(finding.predicted_peak->value));
  if (finding.growth) {
    const model::Growth& growth = *finding.growth;
    add(rows, "held by", text(growth.holder));
    for (std::size_t i = 0; i < growth.sites.size() && i < kMost; ++i) {
      add(rows, "made at", text(growth.sites[i].site) + QStringLiteral("   ") + bytes(growth.sites[i].bytes.value));
    }
    add(rows, "alone", exact_bytes(growth.alone.value) + QStringLiteral(" are freed if only this is emptied"));
  }
  if (finding.outside) {
    add(rows, "grows", text(finding.outside->kind));
    add(rows, "a step", exact_bytes(finding.outside->per_step.value));
    if (finding.outside->holder) add(rows, "held by", text(*finding.outside->holder));
  }
  if (!finding.items.empty()) {
    if (const auto release = finding.items.front().release()) {
      add(rows, "released", text(release->name.value_or("")) + QStringLiteral("   ") + place(release->by));
    }
  }
  if (finding.holders) add_holders(rows, *finding.holders);
  add(rows, "because", text(finding.why));
  if (finding.held_for) {
    add(rows, "held for",
        time(finding.held_for->shortest.value) + QStringLiteral(" to ") + time(finding.held_for->longest.value) +
            QStringLiteral(" after the release"));
  }
  add(rows, "reads after",
      QStringLiteral("%1 by operators, %2 by kernels").arg(finding.reads).arg(finding.kernel_reads));
  add(rows, "confidence", text(name_of(finding.confidence)));
  add(rows, "fix", text(finding.fix));
  const QString path = text(report.path);
  add(rows, "command",
      finding.outside ? QStringLiteral("dc-memtrace show memory '%1'").arg(path)
                      : QStringLiteral("dc-memtrace show holders '%1' finding:%2").arg(path).arg(finding.number));
  return rows;
}

std::vector<TableModel::Row> facts(const model::StorageView& storage) {
  std::vector<TableModel::Row> rows;
  add(rows, "storage", QString::number(storage.storage.value));
  add(rows, "bytes", exact_bytes(storage.bytes_at_birth.value));
  add(rows, "made by", place(storage.born_by));
  for (const model::Frame& each : storage.born_by.stack) {
    if (rows.size() > kMost) break;
    const QString line = frame(each.file, each.line, each.function);
    const bool said = rows.back().cells[1].endsWith(line);  // the site is the innermost of them
    if (!each.library && !said) add(rows, "", line);
  }
  for (std::size_t i = 0; i < storage.owners.size() && i < kMost; ++i) {
    const model::StoryOwner& owner = storage.owners[i];
    add(rows, "held by", text(owner.path) + (owner.place ? QStringLiteral("   ") + text(*owner.place) : QString()));
  }
  if (!storage.censuses.empty()) add_holders(rows, storage.censuses.back());
  if (storage.held_for)
    add(rows, "dead but held", time(storage.held_for->value) + QStringLiteral(" after its release"));
  if (storage.bytes_gone) {
    add(rows, "gone", place(storage.bytes_gone->by));
  } else {
    add(rows, "gone", QStringLiteral("not: its bytes are there to the end of the trace"));
  }
  return rows;
}

std::vector<TableModel::Row> facts(const model::DevicePeak& peak, const model::Report& report) {
  std::vector<TableModel::Row> rows;
  add(rows, "peak", exact_bytes(peak.bytes.value));
  if (peak.step) add(rows, "step", QString::number(*peak.step));
  if (peak.phase) add(rows, "phase", text(*peak.phase));
  add(rows, "at", text(peak.site));
  add(rows, "needed", exact_bytes(peak.needed_bytes.value));
  add(rows, "dead but held", exact_bytes(peak.dead_bytes.value));
  add(rows, "predicted", exact_bytes(peak.predicted_bytes.value));
  if (peak.reserved_bytes) add(rows, "reserved", exact_bytes(peak.reserved_bytes->value) + QStringLiteral(" at most"));
  // What may be on purpose is no finding, and would be seen nowhere else.
  for (const model::Remark& remark : report.remarks) add(rows, "remark", text(remark.text));
  return rows;
}

std::vector<TableModel::Row> story(const model::StorageView& storage) {
  std::vector<TableModel::Row> rows;
  rows.reserve(storage.events.size());
  for (const StoryEvent& event : storage.events) {
    rows.push_back(
        {{text(model::grouped(event.at.seq.value)), time(event.after_start.value), words_of(event), by_whom(event)},
         {static_cast<double>(event.at.seq.value), static_cast<double>(event.after_start.value), 0, 0},
         event.at.seq.value});
  }
  return rows;
}

std::vector<TableModel::Row> groups(const model::Groups& groups) {
  std::vector<TableModel::Row> rows;
  rows.reserve(groups.groups.size());
  for (const model::Group& group : groups.groups) {
    rows.push_back({{exact_bytes(group.bytes.value), QString::number(100 * group.share, 'f', 1) + QStringLiteral(" %"),
                     group.blocks > 0 ? text(model::grouped(group.blocks)) : QStringLiteral("-"), text(group.name)},
                    {static_cast<double>(group.bytes.value), group.share, static_cast<double>(group.blocks), 0},
                    group.largest_block ? group.largest_block->value : 0});
  }
  return rows;
}

}  // namespace dcmt::gui::words
