#include "gui/models/selection.h"

namespace dcmt::gui {

void Selection::clear() {
  // Changes everything before the first signal: receivers of one signal ask for the other values.
  const bool selected = finding_ != 0 || lifetime_;
  const bool at_point = point_.has_value();
  finding_ = 0;
  lifetime_.reset();
  point_.reset();
  if (selected) emit changed();
  if (at_point) emit point_changed();
}

void Selection::select_finding(std::int64_t finding) {
  if (finding == finding_) return;
  finding_ = finding;
  emit changed();
}

void Selection::select_lifetime(std::optional<scene::LifetimeId> lifetime, std::int64_t finding) {
  if (lifetime == lifetime_ && finding == finding_) return;
  lifetime_ = lifetime;
  finding_ = finding;
  emit changed();
}

void Selection::select_point(std::optional<scene::Unit> point) {
  if (point == point_) return;
  point_ = point;
  emit point_changed();
}

}  // namespace dcmt::gui
