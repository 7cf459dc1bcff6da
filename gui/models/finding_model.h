// The findings of a device. A tick means: what if it were fixed?
#pragma once

#include <set>
#include <vector>

#include "analyzer/model/report.h"
#include "gui/models/table_model.h"

namespace dcmt::gui {

class FindingModel : public TableModel {
  Q_OBJECT

 public:
  explicit FindingModel(QObject* parent = nullptr);

  /// Sets the device's findings. Those that the report's prediction leaves out are ticked.
  void set_findings(const model::Report& report, const model::DevicePeak& device);
  [[nodiscard]] std::vector<std::int64_t> ticked() const { return {ticked_.begin(), ticked_.end()}; }
  void set_ticked(const std::vector<std::int64_t>& findings);
  /// The row of a finding; -1 if there is none.
  [[nodiscard]] int row_of(std::int64_t finding) const;

  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 signals:
  void ticked_changed();

 private:
  std::set<std::int64_t> ticked_, can_be_ticked_;
};

}  // namespace dcmt::gui
