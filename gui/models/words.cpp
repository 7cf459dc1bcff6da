#include "gui/models/words.h"

#include <string>

#include "render/wording/finding_words.h"
#include "render/wording/holder_words.h"
#include "render/wording/story_words.h"
#include "trace/base/quantities.h"

namespace dcmt::gui::words {
namespace {

/// The panels scroll, so they show more of a long list than a terminal.
constexpr wording::Form kForm{.exact = true, .most = 12};

void add_facts(std::vector<TableModel::Row>& rows, const wording::LabelledLines& facts) {
  for (const wording::LabelledLine& fact : facts) add(rows, fact.label, text(fact.text));
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

QString title(const model::ReportedFinding& finding) {
  return QString::number(finding.number) + QLatin1Char(' ') + text(wording::finding_title(finding));
}

void add(std::vector<TableModel::Row>& rows, std::string_view label, const QString& value) {
  if (!value.isEmpty()) rows.push_back({{text(label), value}, {}, 0});
}

std::vector<TableModel::Row> facts(const model::ReportedFinding& finding, const model::Report& report) {
  const wording::FindingWords words = wording::finding_words(report.path, finding, kForm);
  std::vector<TableModel::Row> rows;
  add(rows, "finding", title(finding));
  add(rows, "of", text(words.about).trimmed());
  add(rows, "bytes", exact_bytes(finding.bytes.value));
  if (finding.dead_at_peak.value > 0) add(rows, "dead at the peak", exact_bytes(finding.dead_at_peak.value));
  if (finding.predicted_peak) add(rows, "peak without it", exact_bytes(finding.predicted_peak->value));
  add_facts(rows, words.facts);
  add(rows, "confidence", text(name_of(finding.confidence)));
  add(rows, "next", text(wording::next_command(report.path, finding)));
  return rows;
}

std::vector<TableModel::Row> facts(const model::StorageView& storage) {
  std::vector<TableModel::Row> rows;
  add(rows, "storage", QString::number(storage.storage.value));
  add(rows, "bytes", exact_bytes(storage.bytes_at_birth.value));
  add(rows, "made by", text(wording::by_text(storage.born_by)));
  add_facts(rows, wording::stack_facts(storage.born_by, kForm));
  for (std::size_t i = 0; i < storage.owners.size() && i < kForm.most; ++i) {
    const model::StoryOwner& owner = storage.owners[i];
    add(rows, "held by", text(wording::placed(owner.path, owner.place)));
  }
  if (!storage.censuses.empty()) {
    add_facts(rows, wording::holder_facts(storage.censuses.back(), "", kForm));
    add(rows, "counts", text(wording::count_text(storage.censuses.back())));
  }
  if (storage.bytes_gone) add(rows, "freed", text(wording::gone_text(*storage.bytes_gone)));
  add(rows, "end", text(wording::end_text(storage)));
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
  for (const model::StoryEvent& event : storage.events) {
    rows.push_back({{number(event.at.seq.value), time(event.after_start.value), text(wording::event_text(event, kForm)),
                     text(wording::event_by(event))},
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
