// The common selection of all panels: a finding, a storage, a point.
#pragma once

#include <QObject>

#include <cstdint>
#include <optional>

#include "render/scene/recording.h"

namespace dcmt::gui {

class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  [[nodiscard]] std::int64_t finding() const { return finding_; }
  [[nodiscard]] std::optional<scene::LifetimeId> lifetime() const { return lifetime_; }
  [[nodiscard]] std::optional<scene::Unit> point() const { return point_; }

  void clear();
  /// 0: none. The selected lifetime does not change.
  void select_finding(std::int64_t finding);
  /// @param finding  the finding of the lifetime; 0: none
  void select_lifetime(std::optional<scene::LifetimeId> lifetime, std::int64_t finding);
  void select_point(std::optional<scene::Unit> point);

 signals:
  /// The finding or the lifetime has changed.
  void changed();
  void point_changed();

 private:
  std::int64_t finding_ = 0;
  std::optional<scene::LifetimeId> lifetime_;
  std::optional<scene::Unit> point_;
};

}  // namespace dcmt::gui
