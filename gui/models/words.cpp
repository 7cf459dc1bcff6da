#include "gui/models/words.h"

#include <string>

#include "gui/models/fact_rows.h"
#include "trace/base/quantities.h"

namespace dcmt::gui::words {
namespace {

using analyzer::MarkKind;
using model::StoryEvent;
using What = StoryEvent::What;

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
QString number(std::int64_t number) { return text(dcmt::grouped(number)); }
QString bytes(std::int64_t bytes) { return text(dcmt::rounded_bytes(bytes)); }
QString exact_bytes(std::int64_t bytes) { return text(dcmt::exact_bytes(bytes)); }
QString time(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const double ms = static_cast<double>(ns) * 1e-6;
  return ns < 10 * kSecond && ns > -10 * kSecond ? QString::number(ms, 'f', 3) + QStringLiteral(" ms")
                                                 : QString::number(ms * 1e-3, 'f', 6) + QStringLiteral(" s");
}

QString title(const model::Finding& finding) {
  return QString::number(finding.number) + QLatin1Char(' ') + text(finding.title).toUpper();
}

std::vector<TableModel::Row> facts(const model::StorageView& storage) {
  std::vector<TableModel::Row> rows;
  add(rows, "storage", QString::number(storage.storage.value));
  add(rows, "bytes", exact_bytes(storage.bytes_at_birth.value));
  add(rows, "made by", place(storage.born_by));
  for (const analyzer::FrameText& each : storage.born_by.stack) {
    if (rows.size() > kMostFacts) break;
    const QString line = frame(each.file, each.line, each.function);
    const bool said = rows.back().cells[1].endsWith(line);  // the site is the innermost frame
    if (!each.library() && !said) add(rows, "", line);
  }
  for (std::size_t i = 0; i < storage.owners.size() && i < kMostFacts; ++i) {
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
  // Remarks may describe intended behaviour, so they are no findings, but no other panel shows them.
  for (const analyzer::Remark& remark : report.remarks) add(rows, "remark", text(remark.text()));
  return rows;
}

std::vector<TableModel::Row> story(const model::StorageView& storage) {
  std::vector<TableModel::Row> rows;
  rows.reserve(storage.events.size());
  for (const StoryEvent& event : storage.events) {
    rows.push_back({{number(event.at.seq.value), time(event.after_start.value), words_of(event), by_whom(event)},
                    {static_cast<double>(event.at.seq.value), static_cast<double>(event.after_start.value), 0, 0},
                    event.at.seq.value});
  }
  return rows;
}

std::vector<TableModel::Row> groups(const model::Groups& groups) {
  std::vector<TableModel::Row> rows;
  rows.reserve(groups.groups.size());
  for (const analyzer::Group& group : groups.groups) {
    rows.push_back({{exact_bytes(group.bytes.value), QString::number(100 * group.share, 'f', 1) + QStringLiteral(" %"),
                     group.blocks > 0 ? number(group.blocks) : QStringLiteral("-"), text(group.name)},
                    {static_cast<double>(group.bytes.value), group.share, static_cast<double>(group.blocks), 0},
                    group.largest_block ? group.largest_block->value : 0});
  }
  return rows;
}

}  // namespace dcmt::gui::words
