#include "gui/models/finding_model.h"

#include "gui/models/words.h"

namespace dcmt::gui {

FindingModel::FindingModel(QObject* parent)
    : TableModel({{QStringLiteral("finding")}, {QStringLiteral("bytes"), true}, {QStringLiteral("peak without"), true}},
                 parent) {}

void FindingModel::set_findings(const model::Report& report, const model::DevicePeak& device) {
  ticked_ = {device.without_findings.begin(), device.without_findings.end()};
  can_be_ticked_.clear();
  std::vector<Row> rows;
  for (const model::ReportedFinding& finding : report.findings) {
    if (finding.device && finding.device != device.device) continue;
    if (finding.predicted_peak) can_be_ticked_.insert(finding.number);
    const auto bytes = static_cast<double>(finding.bytes.value);
    const auto without = finding.predicted_peak ? static_cast<double>(finding.predicted_peak->value) : 0;
    rows.push_back({{words::title(finding), words::bytes(finding.bytes.value),
                     finding.predicted_peak ? words::bytes(finding.predicted_peak->value) : QStringLiteral("-")},
                    {static_cast<double>(finding.number), bytes, without},
                    finding.number});
  }
  set_rows(std::move(rows));
}

void FindingModel::set_ticked(const std::vector<std::int64_t>& findings) {
  std::set<std::int64_t> ticked;
  for (const std::int64_t finding : findings) {
    if (can_be_ticked_.contains(finding)) ticked.insert(finding);
  }
  if (ticked == ticked_) return;
  ticked_ = std::move(ticked);
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::CheckStateRole});
  emit ticked_changed();
}

int FindingModel::row_of(std::int64_t finding) const {
  for (int row = 0; row < rowCount(); ++row) {
    if (row_at(row).id == finding) return row;
  }
  return -1;
}

QVariant FindingModel::data(const QModelIndex& index, int role) const {
  if (role == Qt::CheckStateRole && index.isValid() && index.column() == 0) {
    const std::int64_t finding = row_at(index.row()).id;
    if (!can_be_ticked_.contains(finding)) return {};
    return ticked_.contains(finding) ? Qt::Checked : Qt::Unchecked;
  }
  return TableModel::data(index, role);
}

Qt::ItemFlags FindingModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = TableModel::flags(index);
  const bool tick = index.isValid() && index.column() == 0 && can_be_ticked_.contains(row_at(index.row()).id);
  return tick ? flags | Qt::ItemIsUserCheckable : flags;
}

bool FindingModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !(flags(index) & Qt::ItemIsUserCheckable)) return false;
  const std::int64_t finding = row_at(index.row()).id;
  if (value.toInt() == Qt::Checked) {
    ticked_.insert(finding);
  } else {
    ticked_.erase(finding);
  }
  emit dataChanged(index, index, {Qt::CheckStateRole});
  emit ticked_changed();
  return true;
}

}  // namespace dcmt::gui
