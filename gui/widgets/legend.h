// The colors of the stacked area and their names.
#pragma once

#include <QWidget>

#include <string>
#include <vector>

namespace dcmt::gui {

class Legend : public QWidget {
  Q_OBJECT

 public:
  explicit Legend(QWidget* parent = nullptr);
  /// Sets the names of the groups with their own color. `dead`: something is kept for nothing. `reserved`: there is a
  /// line of reserved memory.
  void show_groups(const std::vector<std::string>& groups, bool dead, bool reserved);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Positions the entries in as many lines as needed.
  void place();

  struct Entry {
    QString name, shown;
    int color = 0;  ///< index in the theme's groups, or one of these values
    static constexpr int kDead = -1, kReserved = -2;
    QRect box;
  };
  std::vector<Entry> entries_;
};

}  // namespace dcmt::gui
